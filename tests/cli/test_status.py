"""`attnexp status` shows the progress of runs and sweeps."""

import json
import time

import pytest
from schemas import faults

from attnexp.cli import main as cli
from attnexp.cli import status
from attnexp.runs import files, lock
from attnexp.runs.plan_file import StoredPlan


@pytest.fixture
def outputs(write_run, tmp_path, monkeypatch):
    """Two finished runs, one that failed, one that died; and a plan with two jobs more."""
    monkeypatch.chdir(tmp_path)
    folders = [
        write_run("a", {"seed": 0}, seconds=10.0),
        write_run("b", {"seed": 1}, seconds=20.0),
        write_run("c", {"seed": 2}, status="failed", error="ValueError: no\nmore"),
        write_run("d", {"seed": 3}, status="running", started="yesterday"),
    ]
    root = tmp_path / "outputs"
    StoredPlan.of(root, [*folders, root / "e", root / "f\x1b[2J"]).write()
    return root


def record(capsys, *arguments: str) -> dict:
    assert cli.run(["status", *arguments, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert faults("status", found) == []
    return found


def test_counts_and_what_needs_a_look(outputs, capsys):
    answer = record(capsys)
    assert answer["counts"] == {"done": 2, "failed": 1, "died": 1, "to do": 2}
    assert answer["ended_early"] == [
        {"to run again": "c", "status": "failed", "error": "ValueError: no"},
        {"to run again": "d", "status": "died", "error": "its process is gone"},
    ]
    assert answer["to_do"][0] == "e"
    assert "\x1b" not in answer["to_do"][1]
    assert answer["seconds_left"] == pytest.approx(15 * 4)


def test_a_running_run_is_shown_with_its_process_and_progress(outputs, capsys):
    (outputs / "d" / files.METRICS).write_text("epoch,step,loss\n1,8,0.5\n2,16,0.25\n3,")
    with lock.hold(outputs / "d"):
        (run,) = record(capsys)["running"]
        assert cli.run(["status"]) == 0
    shown = capsys.readouterr().out
    assert run["where"].startswith("process ")
    assert (run["running"], run["since"]) == ("d", "yesterday")
    assert run["progress"].startswith("epoch 2")
    assert run["progress"].endswith("update 16, loss 0.25")
    assert "at 1 at a time" in shown
    assert run["progress"] in shown


def test_watching_ends_when_all_has_ended(outputs, capsys, monkeypatch):
    waited = []

    def finish(seconds):
        waited.append(seconds)
        for plan in (outputs / ".plans").iterdir():
            plan.unlink()

    monkeypatch.setattr(time, "sleep", finish)
    assert cli.run(["status", "--watch"]) == 0
    assert waited == [status.EVERY]
    assert capsys.readouterr().out.count("done") == 2


def test_a_folder_that_is_not_there_is_named(tmp_path, capsys):
    assert cli.run(["status", str(tmp_path / "none")]) == 2
    assert "none is not there" in capsys.readouterr().err


def test_plans_that_cannot_be_read_are_named(outputs, capsys):
    (outputs / ".plans" / "broken.json").write_text("{")
    assert cli.run(["status"]) == 0
    assert "broken.json is not the plan of a sweep" in capsys.readouterr().err
