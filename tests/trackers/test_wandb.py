"""The messages in wandb's own file have what the tracker records."""

import csv
import json
import socket
import struct
import time

import msgspec
import pytest

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


def records(file):
    """The messages of a file: records of LevelDB's log, in pieces that end with a block."""
    from wandb.proto.wandb_internal_pb2 import Record

    content, place, record = file.read_bytes(), 7, b""
    while place + 7 <= len(content):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        _, length, kind = struct.unpack_from("<IHB", content, place)
        place += 7 + length
        if place > len(content):
            return
        record += content[place - length : place]
        if kind in (1, 4):  # a whole record, or its last piece
            yield Record.FromString(record)
            record = b""


def items(messages):
    return {each.key or ".".join(each.nested_key): json.loads(each.value_json) for each in messages}


def below(prefix, values):
    return {
        name.removeprefix(prefix): value
        for name, value in values.items()
        if name.startswith(prefix)
    }


def recorded(folder, code):
    """Returns the one file in a run folder and its records, once wandb's process has ended it."""
    (file,) = (folder / "wandb").glob("offline-run-*/*.wandb")
    late = time.monotonic() + 20
    while True:
        found = [*records(file)]
        codes = [each.exit.exit_code for each in found if each.HasField("exit")]
        if codes or time.monotonic() > late:
            assert codes == [code]
            return file, found
        time.sleep(0.02)


def rows_of(found):
    """The numbers of each step, with the step as `epoch`."""
    rows = {}
    for each in found:
        if each.HasField("history"):
            row = rows.setdefault(each.history.step.num, {"epoch": each.history.step.num})
            row |= below("train/", items(each.history.item))
    return [*rows.values()]


def finals(found):
    """The last value of each final metric."""
    final = {}
    for each in found:
        final |= below("final/", items(each.summary.update))
    return final


def run_of(found):
    return next(each.run for each in found if each.HasField("run"))


def test_the_file_has_every_epoch_the_settings_the_metrics_and_the_pictures(
    wandb, succeeds, tmp_path
):
    said = succeeds(*QUICK, "tracker.project=whole").stdout
    (folder,) = (tmp_path / "outputs").iterdir()
    file, found = recorded(folder, 0)
    assert said.count(f"wandb sync {file.parent.relative_to(tmp_path)}") == 1
    assert "View run" not in said
    summary = json.loads((folder / "summary.json").read_text())
    with (folder / "metrics.csv").open() as table:
        written = [
            {name: float(value) for name, value in row.items()} for row in csv.DictReader(table)
        ]
    assert rows_of(found) == [pytest.approx(row) for row in written]
    assert finals(found) == pytest.approx(summary["metrics"])
    assert run_of(found).display_name == folder.name
    assert items(run_of(found).config.update)["optim.lr"] == summary["config"]["optim"]["lr"]
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
    recorded(tmp_path, 1)
    second = Wandb()
    second.begin(tmp_path, SUMMARY)
    for epoch in (1, 2, 3, 4):
        second.epoch({"epoch": epoch, "loss": float(epoch)})
    second.end(tmp_path, msgspec.structs.replace(ENDED, status=Status.FINISHED))
    _, found = recorded(tmp_path, 0)
    assert rows_of(found) == [{"epoch": epoch, "loss": float(epoch)} for epoch in (1, 2, 3, 4)]
    assert finals(found) == {"test_mse": 0.25}
    assert run_of(found).run_id == SUMMARY.key
    assert items(run_of(found).config.update)["seed"] == 4


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
