"""What a folder holds of a wanted run, runs of earlier versions included."""

import math
import shutil
from pathlib import Path

import msgspec
import pytest

from attnexp.runs.collection import collect
from attnexp.runs.frame import make_frame, varying
from attnexp.runs.lock import hold
from attnexp.runs.run import load_run
from attnexp.runs.state import OtherRunError, look
from attnexp.runs.summary import first_summary, read_summary

STORED = Path(__file__).parent / "stored"
"""Run folders that attnexp wrote before its modules moved, one of each state."""

CONFIG = {"seed": 0, "model": {"_target_": "a.B", "width": 1.0}, "train": {"clip_norm": 1.0}}


@pytest.fixture
def finished(tmp_path):
    def write(config):
        summary = first_summary(config, {"model": "b"})
        msgspec.structs.replace(summary, status="finished").write(tmp_path)
        return tmp_path

    return write


def test_a_finished_run_is_finished_however_its_numbers_are_written(finished):
    folder = finished(CONFIG)
    again = {"train": {"clip_norm": 1}, "model": {"width": 1, "_target_": "a.B"}, "seed": 0}
    found = look(folder, again)
    assert found.state == "finished"
    assert found.summary is not None


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_setting_that_json_cannot_hold_is_the_same_setting(finished, value):
    config = CONFIG | {"train": {"clip_norm": value}}
    assert look(finished(config), config).state == "finished"


def test_the_run_of_another_configuration_is_refused(finished):
    folder = finished(CONFIG)
    other = CONFIG | {"model": {"_target_": "a.B", "width": 2.0}}
    with pytest.raises(OtherRunError, match=r"model\.width is 1 there, and 2 here"):
        look(folder, other)


def test_every_state_has_its_name(finished, tmp_path):
    assert look(tmp_path / "nowhere", CONFIG).state == "new"
    folder = finished(CONFIG)
    summary = read_summary(folder)
    for status in ("failed", "interrupted"):
        summary.ended_early(status, "why").write(folder)
        assert (look(folder, CONFIG).state, look(folder, CONFIG).error) == (status, "why")
    msgspec.structs.replace(summary, status="running").write(folder)
    assert look(folder, CONFIG).state == "died"
    with hold(folder):
        assert look(folder, CONFIG).state == "running"
    msgspec.structs.replace(summary, key="another").write(folder)
    assert look(folder, CONFIG).state == "stale"
    (folder / "summary.json").write_text("{")
    assert look(folder, CONFIG).state == "unreadable"


def test_folders_of_the_version_before_are_read():
    found = collect([STORED])
    assert not found.skipped
    assert sorted(run.state for run in found.runs) == [
        "died",
        "failed",
        "finished",
        "finished",
        "interrupted",
    ]
    frame = make_frame(found.runs)
    assert set(frame.table["data"]) == {"sine", "reverse", "copy", "sort", "recall"}
    for run in found.runs:
        if run.finished:
            assert run.epochs["loss"].size
            assert run.attention.weights
            assert run.prediction_rows
    (trained,) = (run for run in found.runs if run.data == "reverse")
    assert list(trained.snapshots) == [0, 1, 2]


def test_the_same_run_of_the_version_before_is_named_and_kept(in_process, tmp_path):
    """Targets have moved and settings have come since: its key is still computed."""
    name = "gaussian_learned-sine-kernel_regression-seed1-79e3557f04"
    shutil.copytree(STORED / name, tmp_path / "outputs" / name)
    before = (tmp_path / "outputs" / name / "summary.json").read_bytes()
    words = ("data.num_train=6", "data.step=0.5", "seed=1", "train.max_epochs=3", "figures=false")
    answer = in_process(*words)
    assert answer.returncode == 0, answer.stderr
    assert f"outputs/{name} hold numbers of an older version of attnexp" in answer.stdout
    assert len(list((tmp_path / "outputs").iterdir())) == 2
    assert (tmp_path / "outputs" / name / "summary.json").read_bytes() == before
    assert load_run(tmp_path / "outputs" / name).finished


@pytest.mark.parametrize(
    ("name", "added"),
    [
        ("gaussian_learned-sine-kernel_regression-seed1-79e3557f04", {}),
        ("additive-reverse-transformer-seed0-29f3c1eebb", {"attention_dropout": 0.0}),
    ],
)
def test_a_run_from_before_normalizers_stands_in_one_row_with_one_of_today(name, added, tmp_path):
    old = shutil.copytree(STORED / name, tmp_path / "old")
    stored = msgspec.json.decode((old / "summary.json").read_bytes())
    assert "normalizer" not in stored["config"]
    stored["config"]["normalizer"] = {"_target_": "attnexp.normalizers.softmax.Softmax"}
    stored["config"]["arch"] |= added
    stored["config"]["seed"] += 1
    stored["choices"]["normalizer"] = "softmax"
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "summary.json").write_bytes(msgspec.json.encode(stored))
    assert load_run(old).choices["normalizer"] == "softmax"
    both = [load_run(tmp_path / folder) for folder in ("old", "new")]
    assert both[0].settings == both[1].settings
    assert varying(make_frame(both)) == []
