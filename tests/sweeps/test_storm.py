"""Four hundred jobs, killed without warning ten times over."""

import json
import os
import random
import signal
import time
from contextlib import suppress

import pytest
from sweeping import Started, marked, until

JOBS = 400
STORMS = 10
EPOCHS = 10
ARGUMENTS = ("-m", f"seed=range({JOBS})", "figures=false", f"train.max_epochs={EPOCHS}")


@pytest.mark.slow
def test_a_sweep_that_is_killed_again_and_again_finishes_each_job_once(home):
    from attnexp.runs import files
    from attnexp.runs.summary import read_summary

    random.seed(0)
    done = []
    for storm in range(STORMS):
        mark = f"storm{storm}-{os.getpid()}"
        command = Started(home, ARGUMENTS, mark)
        if storm % 2:  # on a machine of any speed these storms hit jobs, the others hit the start
            process = command.process
            until(lambda: count(home) > done[-1] or process.poll() is not None)  # noqa: B023
        time.sleep(random.uniform(1, 7))
        # all of it at once, or the command alone, or the process with the jobs
        killed = marked(mark)
        for number in random.choice([killed, killed[:1], killed[1:]]) or killed:
            kill(number)
        if storm % 2:
            command.process.kill()
        else:
            time.sleep(random.uniform(0, 2))
            for number in marked(mark):
                kill(number)
        command.end()
        command.close()
        done.append(count(home))
    assert done == sorted(done)  # nothing that has finished is lost
    assert done[-1] > 0
    assert done[STORMS // 2] < JOBS, "the sweep was over before half of the storms"

    last = Started(home, ARGUMENTS, f"last-{os.getpid()}")
    code, out, err = last.end(timeout=600)
    last.close()
    assert code == 0, out + err
    folders = sorted((home / "outputs").iterdir())
    assert len(folders) == JOBS
    seeds, again = set(), 0
    for folder in folders:
        summary = read_summary(folder)
        assert summary.status == "finished"
        seeds.add(summary.seed)
        second = summary.width_check.epoch is not None  # training has started a second time
        again += second
        epochs = [row["epoch"] for row in files.read_metrics(folder)]
        assert epochs == list(range(1, EPOCHS * (1 + second) + 1))
        assert len(files.read_rows(folder / files.PREDICTIONS)) == 50
        for name in (files.ATTENTION, files.MODEL):
            files.read_tensors(folder / name)
        assert (folder / "attnexp.log").read_text().count("metrics {") <= 1
    assert seeds == set(range(JOBS))
    assert 0 < again < JOBS
    assert list(home.rglob("*.tmp*")) == []
    assert marked(f"last-{os.getpid()}") == []


def count(home):
    """How many runs have finished."""
    ends = [json.loads(path.read_text()) for path in (home / "outputs").glob("*/summary.json")]
    return sum(end["status"] == "finished" for end in ends)


def kill(number):
    """Kill a process, which may just have ended by itself."""
    with suppress(ProcessLookupError):
        os.kill(number, signal.SIGKILL)
