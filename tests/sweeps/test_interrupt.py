"""Ctrl-C and worse: what has finished is kept, no process stays behind, and the sweep goes on."""

import os
import re
import signal
from pathlib import Path

import pytest
from sweeping import begun, marked, statuses, summaries, until

PLANNING = "attnexp: interrupted; what had finished is kept\n"
"""What a sweep says that was interrupted before it had its jobs together."""


def ends(home):
    return [summary["status"] for summary in summaries(home)]


def seconds_of_work(process):
    """The processor time of a process."""
    times = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def test_ctrl_c_keeps_what_has_finished_and_says_how_to_go_on(start, home):
    command = start("-m", "model.seconds=0,60", "seed=0,1,2")
    until(lambda: len(begun(home)) == 4)
    command.interrupt()
    code, out, err = command.end(timeout=20)
    assert code == 130, err
    until(lambda: marked(start.mark) == [], seconds=20)
    assert re.search(r"done +3\ninterrupted +1\nto do +2\n", out)
    remark, last = err.strip().splitlines()
    assert remark.startswith("note: your code reads while it runs (fragile, line ")
    assert last == (
        "attnexp: interrupted: 3 of 6 jobs are done; the same command goes on with the rest"
    )
    assert "Traceback" not in out
    assert sorted(ends(home)) == ["finished"] * 3 + ["interrupted"]


def test_sigterm_to_all_its_processes_interrupts_each_job(start, home):
    """As a queue sends it at the time limit of a task."""
    command = start("-m", "hydra/launcher=parallel", "model.seconds=60", "seed=0,1")
    until(lambda: len(begun(home)) == 2)
    os.killpg(command.process.pid, signal.SIGTERM)
    code, out, err = command.end(timeout=20)
    assert code == 143, out + err
    assert "the same command goes on with the rest" in err
    until(lambda: marked(start.mark) == [], seconds=20)
    assert statuses(home) == {"fine-0": "interrupted", "fine-1": "interrupted"}


def test_an_interrupt_before_the_first_job_leaves_nothing(start, home):
    command = start("-m", "seed=0,1")
    until(lambda: len(marked(start.mark)) > 1)  # the process for jobs imports torch
    command.interrupt()
    code, out, err = command.end(timeout=20)
    assert code == 130, err
    # before its jobs are begun the sweep says no more than that it was interrupted
    assert re.search(r"to do +2\n", out) or (out == "" and err.endswith(PLANNING))
    until(lambda: marked(start.mark) == [], seconds=20)
    assert begun(home) == []
    assert "Traceback" not in out + err


def test_an_interrupt_while_the_sweep_is_planned_leaves_nothing(start, home):
    command = start("-m", "seed=range(0,90000)", "model.seconds=60")
    until(lambda: seconds_of_work(command.process.pid) > 2)  # planning has begun, and takes longer
    command.interrupt()
    code, out, err = command.end(timeout=20)
    assert (code, out, err) == (130, "", PLANNING)
    until(lambda: marked(start.mark) == [], seconds=20)
    assert begun(home) == []


def test_a_killed_command_takes_its_job_with_it(start, fragile, home):
    command = start("-m", "seed=0,1", "model.seconds=60")
    until(lambda: begun(home))
    os.kill(command.process.pid, signal.SIGKILL)
    command.end()
    until(lambda: marked(start.mark) == [], seconds=20)
    assert statuses(home) == {"fine-0": "interrupted"}
    dry = fragile("-m", "seed=0,1", "model.seconds=60", "--dry-run").stdout
    assert "interrupted, to do again" in dry


def test_a_killed_job_process_is_one_failed_job(start, home):
    command = start("-m", "seed=0,1", "model.seconds=1")
    until(lambda: begun(home))
    os.kill(int(begun(home)[0][2]), signal.SIGKILL)
    code, out, _ = command.end()
    assert code == 1
    assert statuses(home) == {"fine-0": "failed", "fine-1": "finished"}
    assert "its process was killed by signal 9 (SIGKILL)" in out


@pytest.mark.slow
def test_a_job_that_will_not_stop_is_ended(start, home):
    """A job that ignores the interrupt is killed after a while, and counts as interrupted."""
    command = start("-m", "seed=0,1", "model.how=stubborn")
    until(lambda: begun(home))
    command.interrupt()
    code, out, _ = command.end(timeout=30)
    assert code == 130
    assert re.search(r"interrupted +1\nto do +1\n", out)
    until(lambda: marked(start.mark) == [], seconds=20)
    assert statuses(home) == {"stubborn-0": "interrupted"}
