"""The reader of `attnexp import wandb`, which needs no wandb, reads what the tracker records."""

import csv
import json
import socket
import time

import msgspec
import pytest

from attnexp.imported.outside import ImportRequest
from attnexp.imported.wandb import read
from attnexp.runs.run_status import Status
from attnexp.runs.summary import Summary
from attnexp.trackers.wandb import Wandb

QUICK = ("model=gaussian_learned", "train.max_epochs=3", "model.check_width=false", "tracker=wandb")
MACHINE = "the-name-of-this-machine"
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


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """No address is reached but a file's, whichever mode the environment asks for."""
    reach = socket.socket.connect

    def connect(self, address):
        assert self.family == socket.AF_UNIX, address
        return reach(self, address)

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr("platform.node", lambda: MACHINE)
    monkeypatch.setattr("socket.gethostname", lambda: MACHINE)
    monkeypatch.setenv("WANDB_MODE", "online")
    monkeypatch.setenv("WANDB_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")


@pytest.fixture
def wandb():
    return pytest.importorskip("wandb", reason="wandb is not installed")


def recorded(folder, status):
    """Returns the one file in a run folder and its run, once wandb's process has written it."""
    (file,) = (folder / "wandb").glob("offline-run-*/*.wandb")
    late = time.monotonic() + 20
    while True:
        ((run,), _) = read(file, ImportRequest())
        if run.status == status or time.monotonic() > late:
            assert run.status == status
            return file, run
        time.sleep(0.02)


def test_the_file_has_every_epoch_the_settings_the_metrics_and_the_pictures(
    wandb, succeeds, tmp_path
):
    said = succeeds(*QUICK, "tracker.project=whole").stdout
    (folder,) = (tmp_path / "outputs").iterdir()
    file, run = recorded(folder, Status.FINISHED)
    assert said.count(f"wandb sync {file.parent.relative_to(tmp_path)}") == 1
    assert "View run" not in said
    summary = json.loads((folder / "summary.json").read_text())
    with (folder / "metrics.csv").open() as table:
        written = [
            {name: float(value) for name, value in row.items()} for row in csv.DictReader(table)
        ]
    columns = written[0].keys()
    assert [
        {name: value for name, value in row.items() if name in columns} for row in run.epochs
    ] == [pytest.approx(row) for row in written]
    assert {name: run.metrics[name] for name in summary["metrics"]} == pytest.approx(
        summary["metrics"]
    )
    assert run.source == f"the run {folder.name} in {file.name}"
    assert run.settings["optim.lr"] == summary["config"]["optim"]["lr"]
    copies = {path.read_bytes() for path in (file.parent / "files" / "media").rglob("*.png")}
    assert copies == {path.read_bytes() for path in (folder / "figures").glob("*.png")}
    content = file.read_bytes()
    assert b"whole" in content
    assert b"train.max_epochs=3" not in content
    assert MACHINE.encode() not in content


def test_a_run_that_goes_on_is_one_run_with_each_epoch_once(wandb, tmp_path):
    stopped = Wandb()
    stopped.begin(tmp_path, SUMMARY)
    for epoch in (1, 2, 3):
        stopped.epoch({"epoch": epoch, "loss": float(epoch)})
    stopped.end(tmp_path, ENDED)
    recorded(tmp_path, Status.FAILED)
    second = Wandb()
    second.begin(tmp_path, SUMMARY)
    for epoch in (1, 2, 3, 4):
        second.epoch({"epoch": epoch, "loss": float(epoch)})
    second.end(tmp_path, msgspec.structs.replace(ENDED, status=Status.FINISHED))
    _, run = recorded(tmp_path, Status.FINISHED)
    assert list(run.epochs) == [
        {"epoch": epoch, "train/loss": float(epoch)} for epoch in (1, 2, 3, 4)
    ]
    assert run.metrics == {"train/loss": 4.0, "final/test_mse": 0.25}
    assert run.identity == SUMMARY.key
    assert run.settings["seed"] == 4


def test_an_error_of_the_library_costs_a_sentence(wandb, in_process, monkeypatch):
    def fails(*arguments, **settings):
        raise OSError("the service has ended")

    monkeypatch.setattr(wandb.Run, "log", fails)
    done = in_process(*QUICK, "figures=false")
    assert done.returncode == 0
    assert done.stdout.count("the tracker failed and is not called again") == 1
    assert "the service has ended" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_a_package_that_is_not_there_is_said_before_anything_is_written(
    refused, tmp_path, monkeypatch
):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "pip install 'attnexp[wandb]'" in refused(*QUICK)
    assert not (tmp_path / "outputs").exists()


def test_a_project_with_other_characters_is_refused(refused, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert "tracker.project is 'a/b'" in refused(*QUICK, "tracker.project=a/b")
