"""Several commands at once never run a job twice, and never write one folder together."""

import os
import re
import signal

import pytest
from sweeping import begun, marked, statuses, summaries, until


def test_two_sweeps_over_overlapping_jobs_run_each_job_once(start, home):
    sweeps = [
        start("-m", "model.seconds=0.4", "seed=range(0,6)"),
        start("-m", "model.seconds=0.4", "seed=range(3,9)"),
    ]
    ends = [sweep.end() for sweep in sweeps]
    assert [code for code, *_ in ends] == [0, 0], ends
    assert len(begun(home)) == 9
    assert set(statuses(home).values()) == {"finished"}
    shared = sum(int(n) for _, out, _ in ends for n in re.findall(r"^skipped +(\d)$", out, re.M))
    done = sum(int(n) for _, out, _ in ends for n in re.findall(r"^done +(\d)$", out, re.M))
    assert (done, shared) == (9, 3)


@pytest.mark.slow
def test_a_sweep_takes_other_jobs_first_and_waits_for_the_rest(start, home):
    single = start("model.how=wait", "seed=0")
    until(lambda: begun(home))
    sweep = start("-m", "model.how=wait,fine", "seed=0")
    until(lambda: sweep.said("waiting for 1 jobs that another process is running"))
    (home / "go").touch()
    code, out, err = sweep.end()
    assert single.end()[0] == 0
    assert code == 0, err
    assert [how for how, *_ in begun(home)] == ["wait", "fine"]
    assert re.search(r"done +1\nskipped +1\n", out)


@pytest.mark.slow
def test_a_single_run_waits_for_the_sweep_that_has_it(start, home):
    sweep = start("-m", "model.how=wait", "seed=0")
    until(lambda: begun(home))
    single = start("model.how=wait", "seed=0")
    until(lambda: single.said("is at work on this run; waiting for it"))
    (home / "go").touch()
    out = single.output()
    assert re.search(r"process \d+ on \S+ is at work on this run", out)
    assert "This run has finished before" in out
    assert sweep.end()[0] == 0
    assert len(begun(home)) == 1


@pytest.mark.slow
def test_a_job_is_taken_over_from_a_sweep_that_was_killed(start, home):
    first = start("-m", "model.how=wait", "seed=0,1")
    until(lambda: begun(home))
    second = start("-m", "model.how=wait", "seed=0,1")
    until(lambda: len(begun(home)) == 2)
    os.kill(first.process.pid, signal.SIGKILL)
    first.end()
    until(lambda: statuses(home) == {"wait-0": "interrupted", "wait-1": "running"})
    (home / "go").touch()
    out = second.output()
    assert len(begun(home)) == 3
    assert [summary["status"] for summary in summaries(home)] == ["finished"] * 2
    assert re.search(r"done +2\n", out)
    until(lambda: marked(start.mark) == [], seconds=20)
