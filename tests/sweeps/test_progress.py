"""What a person sees while a sweep runs: a bar on a terminal, plain lines when piped."""

import os
import re
import sys

import pexpect
import pytest
from imported import IMPORTED
from stored_runs import make_summary
from sweeping import ARGUMENTS

from attnexp.core import console
from attnexp.runs import files
from attnexp.runs.place import Place
from attnexp.runs.run_status import Status
from attnexp.sweeps.job_outcome import JobOutcome
from attnexp.sweeps.plan import PlannedJob
from attnexp.sweeps.progress import SweepProgress


def job(tmp_path, number):
    return PlannedJob(
        number=number,
        overrides=(),
        label=f"seed={number}",
        place=Place(tmp_path / str(number), "k"),
        settings={"train": {"max_epochs": 5}},
    )


@pytest.fixture
def failures():
    return []


@pytest.fixture
def progress(tmp_path, failures):
    return SweepProgress([job(tmp_path, number) for number in range(3)], lambda: failures.append(1))


def write(folder, status, **rest):
    folder.mkdir(exist_ok=True)
    make_summary(status=status, **rest).write(folder)


def test_progress_follows_the_files(progress, failures, tmp_path, capsys):
    progress.update()
    assert progress.running == []
    write(tmp_path / "0", "running")
    write(tmp_path / "1", "running")
    progress.update()
    assert [job.label for job in progress.running] == ["seed=0", "seed=1"]
    write(tmp_path / "0", "finished")
    write(tmp_path / "1", "failed", error="ValueError: no\nmore")
    progress.update()
    progress.update()
    assert progress.running == []
    assert progress.outcomes == {
        tmp_path / "0": JobOutcome(Status.FINISHED),
        tmp_path / "1": JobOutcome(Status.FAILED, "ValueError: no\nmore"),
    }
    assert [job.label for job in progress.remaining] == ["seed=2"]
    assert capsys.readouterr().out == "failed: seed=1: ValueError: no\n"
    assert failures == [1]
    assert re.fullmatch(r"0 running, 1 failed, 0:00:0\d left", progress.text())


def test_the_time_left_is_that_of_the_epochs_left(progress, tmp_path, monkeypatch):
    begin = progress._start
    monkeypatch.setattr("attnexp.sweeps.progress.time.monotonic", lambda: begin + 60)
    assert progress.seconds_left() is None
    progress.record(job(tmp_path, 2), JobOutcome(Status.SKIPPED))
    metrics = tmp_path / "0" / files.METRICS
    write(tmp_path / "0", "running")
    metrics.write_text("epoch,loss\n1,0.5\n")  # of five, one before the sweep
    progress.update()
    assert progress.seconds_left() is None
    metrics.write_text("epoch,loss\n1,0.5\n2,0.4\n3,0.4\n")
    assert progress.seconds_left() == pytest.approx(60 / 0.4 * 1.4)
    write(tmp_path / "0", "finished")
    progress.update()
    assert progress.seconds_left() == pytest.approx(60 / 0.8 * 1.0)


def test_a_failure_is_said_once(progress, tmp_path, capsys):
    write(tmp_path / "0", "failed", error="boom")
    progress.update()
    progress.record(progress.remaining[0], JobOutcome(Status.FINISHED))
    progress.record(job(tmp_path, 0), JobOutcome(Status.FAILED, "boom"))
    assert capsys.readouterr().out == "failed: seed=0: boom\n"


def test_the_last_row_of_a_growing_file(tmp_path):
    assert files.last_metrics(tmp_path) == {}
    file = tmp_path / files.METRICS
    for text, row in [
        ("", {}),
        ("epoch,loss\n", {}),
        ("epoch,loss\n1,0.5\n", {"epoch": "1", "loss": "0.5"}),
        ("epoch,loss\n1,0.5\n2,0.", {"epoch": "1", "loss": "0.5"}),
        (
            "epoch,loss\n" + "".join(f"{n},0.{n}\n" for n in range(5000)),
            {"epoch": "4999", "loss": "0.4999"},
        ),
    ]:
        file.write_text(text)
        assert files.last_metrics(tmp_path) == row


def test_piped_there_are_plain_lines(fragile, monkeypatch):
    monkeypatch.setattr(console, "LINE_EVERY", 0.5)
    answer = fragile("-m", "seed=0,1,2", "model.seconds=1")
    assert re.search(r"^sweep: 1 of 3 jobs, 1 running, 0:00:\d\d left$", answer.stdout, re.M)
    assert "\x1b" not in answer.stdout


@pytest.fixture
def terminal(home):
    """Starts a command on the score that breaks, in a terminal."""
    environment = os.environ | {"PYTHONPATH": IMPORTED, "TERM": "xterm", "COLUMNS": "120"}

    def begin(*arguments):
        return pexpect.spawn(
            sys.executable,
            ["-m", "attnexp", *ARGUMENTS, "-m", *arguments],
            cwd=str(home),
            env=environment,
            dimensions=(40, 120),
            timeout=120,
            encoding="utf-8",
        )

    return begin


@pytest.mark.slow
def test_on_a_terminal_there_is_a_bar_and_a_line_for_the_running_job(terminal):
    command = terminal("seed=0,1", "model.how=fine,raise", "model.seconds=2")
    command.expect(r"sweep .*0/4.*1 running")
    command.expect(r"seed=0 model.how=fine")
    command.expect(r"sweep .*1/4.*1 running.* left")
    command.expect(r"failed:\S* seed=0 model.how=raise: ZeroDivisionError")
    command.expect(r"done +2")
    command.expect(pexpect.EOF)
    command.close()
    assert command.exitstatus == 1
