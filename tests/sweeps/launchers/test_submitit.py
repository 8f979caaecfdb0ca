"""Workers in place of jobs, tried with submitit on this machine."""

import json
import os
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from sweeping import begun, marked, statuses, until

from attnexp.sweeps.launchers import submitit as workers

pytestmark = pytest.mark.skipif(find_spec("submitit") is None, reason="submitit is not installed")

LOCAL = ("-m", "hydra/launcher=submitit_local", "hydra.launcher.workers=2")


SBATCH = """#!/bin/bash
script=$(mktemp) && cp "$1" "$script"
last=$(sed -n 's/^#SBATCH --array=0-\\([0-9]*\\)%.*/\\1/p' "$script")
for task in $(seq 0 "$last"); do
    SLURM_JOB_ID=7$task SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=$task \\
        setsid bash "$script" </dev/null >/dev/null 2>&1 &
done
echo Submitted batch job 7
"""
"""Runs the tasks of an array at once, in the background."""

SRUN = """#!/bin/bash
place() { sed "s/%A/$SLURM_ARRAY_JOB_ID/; s/%a/$SLURM_ARRAY_TASK_ID/; s/%t/0/" <<<"$1"; }
exec "${@:6}" >>"$(place "$3")" 2>>"$(place "$5")"
"""
"""Runs a task, as in `srun --unbuffered --output FILE --error FILE COMMAND`."""


class Worker:
    """A worker of a queue that has ended as soon as it is submitted."""

    def __init__(self, line, folder, said: Path) -> None:
        self.line, self.folder = line, folder
        self.paths = type("Paths", (), {"stderr": said, "stdout": said})

    def done(self) -> bool:
        return True

    def cancel(self, check: bool) -> None:
        raise AssertionError("it is not to be cancelled")


class Queue:
    """A queue that keeps what is submitted, and runs nothing."""

    def __init__(self, said: Path) -> None:
        self.said = said
        self.submitted: list[Worker] = []

    def map_array(self, function, *arguments):
        assert function is workers.work
        found = [Worker(line, folder, self.said) for line, folder in zip(*arguments, strict=True)]
        self.submitted += found
        return found


@pytest.fixture
def queue(monkeypatch, tmp_path) -> Queue:
    queue = Queue(tmp_path / "worker.err")
    monkeypatch.setattr(workers, "_queue", lambda launcher: queue)
    return queue


def test_a_worker_is_the_same_line_on_a_part_of_the_cores(queue, fragile, home):
    answer = fragile(
        *LOCAL, "hydra.launcher.jobs_at_once=2", "hydra.launcher.detach=true", "seed=range(0,3)"
    )
    assert answer.returncode == 0, answer.stderr
    assert "3 jobs for 2 workers are submitted: attnexp status outputs shows" in answer.stdout
    first, second = queue.submitted
    assert first.line == second.line
    assert first.line == [
        "-m",
        f"--config-dir={home / 'mine'}",
        "--config-name=config",
        "model=fragile",
        "figures=false",
        "seed=range(0,3)",
        "hydra/launcher=parallel",
        "hydra.launcher.n_jobs=2",
    ]
    assert first.folder == str(home)
    planned = fragile(*first.line, "--dry-run")
    assert re.search(r"to do +3\n", planned.stdout), planned.stderr
    assert (home / "outputs" / ".plans").exists()


def test_a_tuned_sweep_is_submitted_whole(queue, fragile):
    answer = fragile(*LOCAL, "hydra.launcher.detach=true", "hydra/sweeper=tuned", "seed=0,1")
    assert answer.returncode == 0, answer.stderr
    assert "hydra/sweeper=tuned" in queue.submitted[0].line


def test_what_a_worker_complains_of_is_told(queue, fragile):
    queue.said.write_text("a line\nsrun: no such partition\n")
    answer = fragile(*LOCAL, "seed=0,1")
    assert answer.returncode == 1
    assert "a worker ended with: srun: no such partition" in answer.stdout
    assert "2 of 2 jobs have not run to the end" in answer.stderr


@pytest.mark.slow
def test_workers_share_the_jobs_and_each_runs_several(start, home):
    command = start(*LOCAL, "hydra.launcher.jobs_at_once=2", "seed=range(0,8)", "model.seconds=1")
    code, out, err = command.end(timeout=240)
    assert code == 0, out + err
    assert re.search(r"done +8\n", out)
    assert len(begun(home)) == 8
    assert len({process for _, _, process, *_ in begun(home)}) == 4
    until(lambda: marked(start.mark) == [], seconds=20)


@pytest.mark.slow
def test_ctrl_c_ends_the_workers(start, home):
    command = start(*LOCAL, "seed=0,1", "model.seconds=60")
    until(lambda: len(begun(home)) == 2, seconds=120)
    command.interrupt()
    code, out, err = command.end(timeout=60)
    assert code == 130, out + err
    until(lambda: marked(start.mark) == [], seconds=30)
    assert set(statuses(home).values()) == {"interrupted"}


@pytest.mark.slow
def test_detached_workers_go_on_when_the_command_has_ended(start, home):
    command = start(*LOCAL, "hydra.launcher.detach=true", "seed=0,1,2", "model.seconds=1")
    code, out, err = command.end(timeout=60)
    assert code == 0, out + err
    assert len(begun(home)) == 0
    until(lambda: len(statuses(home)) == 3, seconds=120)
    until(lambda: marked(start.mark) == [], seconds=60)
    assert set(statuses(home).values()) == {"finished"}
    assert not (home / "outputs" / ".plans").exists()


@pytest.fixture
def slurm(home, monkeypatch):
    """A queue of SLURM's of two commands, which runs everything on this machine."""
    folder = home / "bin"
    folder.mkdir()
    for name, script in {"sbatch": SBATCH, "srun": SRUN}.items():
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", str(folder))


@pytest.mark.slow
def test_a_detached_sweep_in_slurm_can_be_followed_to_its_end(start, home, in_process, slurm):
    def counts():
        return json.loads(in_process("status", "--format", "json").stdout)["counts"]

    queue = ("hydra/launcher=slurm", "hydra.launcher.workers=2", "hydra.launcher.detach=true")
    command = start("-m", *queue, "model.how=wait", "seed=0,1,2")
    code, out, err = command.end(timeout=60)
    assert code == 0, out + err
    assert "3 jobs for 2 workers are submitted" in out
    until(lambda: len(begun(home)) == 2, seconds=120)
    assert counts() == {"running": 2, "to do": 1}
    (home / "go").touch()
    until(lambda: counts() == {"done": 3}, seconds=120)
    until(lambda: marked(start.mark) == [], seconds=60)
    assert len(begun(home)) == 3
    assert len({process for _, _, process, *_ in begun(home)}) == 2
    rows = json.loads(in_process("results", "--runs", "--format", "json").stdout)
    assert len(rows) == 3
    again = start("-m", *queue, "model.how=wait", "seed=0,1,2")
    assert again.end(timeout=60)[0] == 0
    until(lambda: marked(start.mark) == [], seconds=20)
