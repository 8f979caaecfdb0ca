"""The real libraries read back what trackers record."""

import csv
import errno
import json
import os
import threading

import pytest

QUICK = ("model=gaussian_learned", "train.max_epochs=3", "model.check_width=false")


@pytest.fixture
def run_with(succeeds, tmp_path):
    """Runs with a tracker and returns the folder of the run."""

    def run(*arguments):
        succeeds(*QUICK, *arguments)
        (folder,) = (tmp_path / "outputs").glob("*-seed0-*")
        return folder

    return run


@pytest.fixture(autouse=True)
def thread_errors(monkeypatch):
    """Puts back what shows the errors of threads."""
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)


def rows_of(folder):
    with (folder / "metrics.csv").open() as file:
        return list(csv.DictReader(file))


def summary_of(folder):
    return json.loads((folder / "summary.json").read_text())


def test_tensorboard_reads_back_every_epoch_the_metrics_and_the_pictures(run_with):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    folder = run_with("tracker=tensorboard")
    events = EventAccumulator(str(folder / "tensorboard"), size_guidance={"images": 0})
    events.Reload()
    losses = [float(row["loss"]) for row in rows_of(folder)]
    seen = events.Scalars("train/loss")
    assert [event.step for event in seen] == [1, 2, 3]
    assert [event.value for event in seen] == pytest.approx(losses)
    for name, value in summary_of(folder)["metrics"].items():
        assert events.Scalars(f"final/{name}")[0].value == pytest.approx(value, rel=1e-6)
    drawn = {path.stem for path in (folder / "figures").glob("*.png")}
    assert {"attention", "fit", "loss"} <= drawn == set(events.Tags()["images"])
    (image,) = events.Images("fit")
    assert image.encoded_image_string.startswith(b"\x89PNG")
    assert image.width > 300


@pytest.mark.parametrize(("first", "code"), [(1, 1), (40, 0)])
def test_event_files_on_a_full_disk_cost_a_sentence(in_process, monkeypatch, tmp_path, first, code):
    """The first of them before the run begins, which ends it then, or any later one."""
    writer = pytest.importorskip("tensorboard.summary.writer.record_writer").RecordWriter
    asked = []

    def write_or_fail(self, data):
        asked.append(data)
        if len(asked) >= first:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(writer, "write", write_or_fail)
    done = in_process(*QUICK, "train.max_epochs=12", "figures=false", "tracker=tensorboard")
    assert len(asked) >= first
    said = done.stdout + done.stderr
    assert done.returncode == code, said
    assert "the disk is full" in said
    assert "Traceback" not in said
    assert ("the tracker failed and is not called again" in done.stdout) == (code == 0)
    (folder,) = (tmp_path / "outputs").iterdir()
    assert summary_of(folder)["status"] == ("failed" if code else "finished")


def test_a_tracker_is_no_part_of_what_a_run_is(run_with, in_process):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    folder = run_with("tracker=tensorboard", "figures=false")
    assert "has finished before" in in_process(*QUICK, "figures=false").stdout
    assert "tracker" not in summary_of(folder)["choices"]


def test_a_library_that_is_not_there_is_said_before_anything_is_written(
    refused, tmp_path, monkeypatch
):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "pip install 'attnexp[tensorboard]'" in refused("tracker=tensorboard")
    assert not (tmp_path / "outputs").exists()


OWN = """
from attnexp.trackers.base import Tracker

class Mine(Tracker):
    def begin(self, folder, summary):
        self.told = [summary.config["model"]["initial_width"]]

    def epoch(self, row):
        self.told.append(row["epoch"])

    def end(self, folder, summary):
        drawn = sorted(path.name for path in (folder / "figures").iterdir())
        print("told", self.told, "test_mse" in summary.metrics, drawn)
"""


def test_a_tracker_of_ones_own_is_told_settings_epochs_metrics_and_pictures(
    succeeds, own_choice, tmp_path
):
    words = own_choice("tracker", "my_tracker.Mine", OWN)
    done = succeeds(*QUICK, *words, "model.initial_width=0.5")
    pictures = sorted(path.name for path in tmp_path.glob("outputs/*/figures/*"))
    assert {"attention.png", "fit.png", "loss.png"} <= {*pictures}
    assert f"told [0.5, 1, 2, 3] True {pictures}" in done.stdout
