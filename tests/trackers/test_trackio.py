"""SQLite reads back what the tracker records."""

import csv
import json
import sqlite3
from contextlib import closing

import msgspec
import pytest

from attnexp.runs.run_status import Status
from attnexp.runs.summary import Summary
from attnexp.trackers import trackio as tracker
from attnexp.trackers.trackio import Trackio

QUICK = (
    "model=gaussian_learned",
    "train.max_epochs=3",
    "model.check_width=false",
    "tracker=trackio",
)
SUMMARY = Summary(
    schema=1,
    status=Status.RUNNING,
    key="0123456789",
    choices={},
    config={"seed": 4, "model": {"width": 0.5}},
    metrics={},
)
ENDED = msgspec.structs.replace(
    SUMMARY, status=Status.INTERRUPTED, metrics={"test_mse": 0.25, "test_mae": None}
)


@pytest.fixture(scope="module")
def databases(tmp_path_factory):
    """The folder of Trackio's databases, which it reads from the environment once."""
    folder = tmp_path_factory.mktemp("trackio")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACKIO_DIR", str(folder))
        patch.setenv("HF_TOKEN", "hf_nobody")
        trackio = pytest.importorskip("trackio", reason="trackio is not installed")
        assert folder == trackio.utils.TRACKIO_DIR
        yield folder


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """No other machine is reached, although the environment holds a token of Hugging Face."""

    def connect(self, address):
        raise AssertionError(address)

    monkeypatch.setattr("socket.socket.connect", connect)


def rows_of(databases, project, table):
    with closing(sqlite3.connect(databases / f"{project}.db")) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(f"SELECT * FROM {table} ORDER BY id")]


def test_the_database_has_every_epoch_the_settings_the_metrics_and_the_pictures(
    databases, succeeds, tmp_path
):
    said = succeeds(*QUICK, "tracker.project=whole").stdout
    assert said.count(str(databases / "whole.db")) == 1
    assert "trackio show --project whole" in said
    (folder,) = (tmp_path / "outputs").iterdir()
    summary = json.loads((folder / "summary.json").read_text())
    rows = rows_of(databases, "whole", "metrics")
    assert {row["run_name"] for row in rows} == {folder.name}
    assert [row["step"] for row in rows] == [1, 2, 3, 3]
    with (folder / "metrics.csv").open() as file:
        written = [
            {f"train/{name}": float(row[name]) for name in row if name != "epoch"}
            for row in csv.DictReader(file)
        ]
    *epochs, last = (json.loads(row["metrics"]) for row in rows)
    assert epochs == [pytest.approx(row) for row in written]
    assert last.pop("status") == "finished"
    for name, value in summary["metrics"].items():
        assert last.pop(f"final/{name}") == pytest.approx(value)
    assert set(last) == {path.stem for path in (folder / "figures").glob("*.png")}
    for name, picture in last.items():
        copy = databases / "media" / picture["file_path"]
        assert copy.read_bytes() == (folder / "figures" / f"{name}.png").read_bytes()
    (row,) = rows_of(databases, "whole", "configs")
    config = json.loads(row["config"])
    assert config["model"] == summary["choices"]["model"]
    assert config["optim.lr"] == summary["config"]["optim"]["lr"]
    assert row["run_name"] == folder.name


def test_a_run_that_goes_on_is_one_run_with_each_epoch_once(databases, tmp_path, monkeypatch):
    monkeypatch.setattr(tracker, "PAUSE", 0.0)
    stopped = Trackio("resumed")
    stopped.begin(tmp_path / "run", SUMMARY)
    for epoch in (1, 2, 3):
        stopped.epoch({"epoch": epoch, "loss": float(epoch)})
    assert len(rows_of(databases, "resumed", "metrics")) == 3
    second = Trackio("resumed")
    second.begin(tmp_path / "run", SUMMARY)
    for epoch in (1, 2, 3, 4):
        second.epoch({"epoch": epoch, "loss": float(epoch)})
    second.end(tmp_path / "run", ENDED)
    rows = rows_of(databases, "resumed", "metrics")
    assert [json.loads(row["metrics"]) for row in rows] == [
        *({"train/loss": float(epoch)} for epoch in (1, 2, 3, 4)),
        {"final/test_mse": 0.25, "status": "interrupted"},
    ]
    assert {(row["run_name"], row["run_id"]) for row in rows} == {("run", SUMMARY.key)}
    assert len(rows_of(databases, "resumed", "configs")) == 1


def test_other_runs_of_the_project_stay(databases, tmp_path):
    for name, key in (("one", "a" * 10), ("two", "b" * 10)):
        run = Trackio("several")
        begun = msgspec.structs.replace(SUMMARY, key=key)
        run.begin(tmp_path / name, begun)
        run.epoch({"epoch": 1, "loss": 0.5})
        run.end(tmp_path / name, begun)
    rows = rows_of(databases, "several", "metrics")
    assert [row["run_name"] for row in rows] == ["one", "one", "two", "two"]


def test_short_epochs_are_written_together(databases, tmp_path, monkeypatch):
    run = Trackio("together")
    monkeypatch.setattr("time.monotonic", lambda: 0.0)
    run.begin(tmp_path / "run", SUMMARY)
    for epoch in range(1, 51):
        run.epoch({"epoch": epoch, "loss": 1.0})
    assert rows_of(databases, "together", "metrics") == []
    run.end(tmp_path / "run", ENDED)
    assert len(rows_of(databases, "together", "metrics")) == 51


def test_a_database_that_cannot_be_written_costs_a_sentence(
    databases, in_process, monkeypatch, tmp_path
):
    from trackio.sqlite_storage import SQLiteStorage

    def fails(*arguments, **settings):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(SQLiteStorage, "bulk_log", fails)
    done = in_process(*QUICK, "figures=false", "tracker.project=full")
    assert done.returncode == 0
    assert done.stdout.count("the tracker failed and is not called again") == 1
    assert "disk is full" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_a_package_that_is_not_there_is_said_before_anything_is_written(
    refused, tmp_path, monkeypatch
):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "pip install 'attnexp[trackio]'" in refused(*QUICK)
    assert not (tmp_path / "outputs").exists()


@pytest.mark.parametrize("project", ["''", "my.thesis", "a/b", "-x", "x" * 101])
def test_a_project_with_other_characters_is_refused(refused, monkeypatch, project):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert "tracker.project is '" in refused(*QUICK, f"tracker.project={project}")
