"""A disk that is full at any moment of a run leaves a true sentence and nothing by halves."""

import errno
import json
import os

import pytest
from safetensors.numpy import load_file

from attnexp.training.record import recording

pytestmark = pytest.mark.check

WORDS = ("train.max_epochs=2", "data.num_train=20", "data.num_test=10")
WRITES = 7
"""How often a run asks the system to keep a file: summary, code.diff, ..., before its pictures."""


@pytest.fixture
def disk(monkeypatch):
    """Fills the disk from the n-th file on."""

    def fill(first):
        asked = 0
        keep = os.fsync

        def keep_or_fail(file):
            nonlocal asked
            asked += 1
            if asked >= first:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            keep(file)

        monkeypatch.setattr(os, "fsync", keep_or_fail)
        monkeypatch.setattr(recording, "differences", lambda: "+1\n")
        return lambda: asked

    return fill


@pytest.mark.first(5)
@pytest.mark.parametrize("first", range(1, WRITES + 4))
def test_a_run_on_a_full_disk(in_process, disk, tmp_path, first):
    disk(first)
    answer = in_process(*WORDS)
    said = answer.stdout + answer.stderr
    assert "the disk is full: " in said
    assert "None" not in said
    assert "Traceback" not in said
    assert "Logging error" not in said
    finished = list(tmp_path.glob("outputs/*/figures")) or "the pictures could not" in said
    assert answer.returncode == (0 if finished else 1)
    require_whole(tmp_path, "finished" if finished else "running")


def require_whole(folder, *statuses):
    """Nothing is there by halves, and a summary says one of these."""
    assert not list(folder.rglob(".*.tmp"))
    for path in folder.rglob("*.json"):
        assert json.loads(path.read_text())["status"] in statuses
    for path in folder.rglob("*.safetensors"):
        load_file(path)


def test_a_run_asks_that_often(succeeds, disk, tmp_path):
    asked = disk(10**6)
    succeeds(*WORDS)
    pictures = list(tmp_path.glob("outputs/*/figures/*.png"))
    assert len(pictures) >= 3
    assert asked() == WRITES + len(pictures)


def test_what_was_there_before_stays(in_process, succeeds, refused, disk, tmp_path):
    succeeds(*WORDS)
    (folder,) = (tmp_path / "outputs").iterdir()
    before = {path: path.read_bytes() for path in (folder / "figures").iterdir()}
    disk(1)
    assert in_process("plot", str(folder)).returncode == 2
    assert before == {path: path.read_bytes() for path in (folder / "figures").iterdir()}
    assert (
        refused("report", "--output", "page.html")
        == "attnexp: --output: page.html cannot be written: the disk is full\n"
    )
    assert not (tmp_path / "page.html").exists()
