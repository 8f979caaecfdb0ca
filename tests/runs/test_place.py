"""What a folder holds of a run that is asked for."""

import math
from pathlib import Path

import msgspec
import pytest

from attnexp.runs.key import run_key
from attnexp.runs.lock import hold
from attnexp.runs.place import Found, OccupiedError, Place, require_no_run_around
from attnexp.runs.run_status import Status
from attnexp.runs.summary import first_summary, read_summary

CONFIG = {"seed": 0, "model": {"_target_": "a.B", "width": 1.0}, "train": {"clip_norm": 1.0}}


def look(folder: Path, settings: dict) -> Found:
    return Place(folder, run_key(settings, {})).first_found(settings).found


@pytest.fixture
def finished(tmp_path):
    def write(config):
        summary = first_summary(run_key(config, {}), config, {"model": "b"})
        msgspec.structs.replace(summary, status="finished").write(tmp_path)
        return tmp_path

    return write


def test_a_run_around_a_folder_is_named_with_its_command_and_the_way_out(
    finished, tmp_path, monkeypatch
):
    summary = read_summary(finished(CONFIG))
    typed = "attnexp hydra.run.dir=."
    msgspec.structs.replace(summary, command=typed).write(tmp_path)
    with pytest.raises(OccupiedError, match=f"{tmp_path}, made by `{typed}`: choose another out"):
        require_no_run_around(tmp_path / "outputs" / "new")
    (tmp_path / "below").mkdir()
    for inside in (tmp_path, tmp_path / "below"):
        monkeypatch.chdir(inside)
        with pytest.raises(OccupiedError, match=f"{tmp_path}, made by .* work in another folder"):
            require_no_run_around(Path("outputs/new"))


def test_a_finished_run_is_finished_however_its_numbers_are_written(finished):
    folder = finished(CONFIG)
    again = {"train": {"clip_norm": 1}, "model": {"width": 1, "_target_": "a.B"}, "seed": 0}
    found = look(folder, again)
    assert found.status == "finished"
    assert found.summary is not None


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_setting_that_json_cannot_hold_is_the_same_setting(finished, value):
    config = CONFIG | {"train": {"clip_norm": value}}
    assert look(finished(config), config).status == "finished"


def test_the_run_of_another_configuration_is_refused(finished):
    folder = finished(CONFIG)
    other = CONFIG | {"model": {"_target_": "a.B", "width": 2.0}}
    with pytest.raises(OccupiedError, match=r"model\.width is 1 there, and 2 here"):
        look(folder, other)
    assert look(folder, other | {"rerun": True}).status == "new"


@pytest.mark.parametrize("version", [0, 1, 1000, None])
@pytest.mark.parametrize("status", ["finished", "interrupted"])
def test_a_run_of_another_results_version_is_refused(finished, version, status):
    folder = finished(CONFIG)
    other = msgspec.structs.replace(read_summary(folder), results_version=version, status=status)
    other.write(folder)
    sentence = rf"version {version or 'none'} of the .* has version 2: .* with rerun=true"
    with pytest.raises(OccupiedError, match=sentence):
        look(folder, CONFIG)
    assert look(folder, CONFIG | {"rerun": True}).status == "new"
    named = folder / f"x-{run_key(CONFIG, {})}"
    named.mkdir()
    (folder / "summary.json").rename(named / "summary.json")
    assert look(named, CONFIG).status == "new"


@pytest.mark.parametrize("name", [".lock", ".lease"])
@pytest.mark.parametrize("content", ["mine", "4711\n", "4711\nhost\n", None])
def test_a_lock_of_another_program_is_refused(tmp_path, name, content):
    folder = tmp_path / "place"
    folder.mkdir()
    (folder / name).mkdir() if content is None else (folder / name).write_text(content)
    for settings in (CONFIG, CONFIG | {"rerun": True}):
        with pytest.raises(OccupiedError, match=rf"a file \{name} that attnexp has not written"):
            look(folder, settings)


def test_a_lock_of_attnexp_is_none_of_another_program(tmp_path):
    with hold(tmp_path):
        assert {path.name for path in tmp_path.iterdir()} == {".lock", ".lease"}
        assert look(tmp_path, CONFIG).status == "new"
        left = (tmp_path / ".lease").read_bytes()
    (tmp_path / ".lease").write_bytes(left)  # as a killed process leaves it
    assert look(tmp_path, CONFIG).status == "new"
    for name in (".lock", ".lease"):
        (tmp_path / name).write_bytes(b"")
    assert look(tmp_path, CONFIG).status == "new"


def test_every_state_has_its_name(finished, tmp_path):
    assert look(tmp_path / "nowhere", CONFIG).status == "new"
    folder = finished(CONFIG)
    summary = read_summary(folder)
    for status in (Status.FAILED, Status.INTERRUPTED):
        summary.ended_early(status, "why").write(folder)
        assert (look(folder, CONFIG).status, look(folder, CONFIG).error) == (status, "why")
    msgspec.structs.replace(summary, status="running").write(folder)
    assert look(folder, CONFIG).status == "died"
    with hold(folder):
        assert look(folder, CONFIG).status == "running"
    named = folder / f"x-{run_key(CONFIG, {})}"
    named.mkdir()
    (named / "summary.json").write_text("{")
    (folder / "summary.json").unlink()
    assert look(named, CONFIG).status == "unreadable"


@pytest.mark.parametrize(
    "name", ["metrics.csv", "predictions.csv", "model.safetensors", "figures", "summary.json"]
)
def test_a_folder_that_is_not_a_runs_is_refused_and_names_the_file(tmp_path, name):
    place = tmp_path / "place"
    place.mkdir()
    (place / name).write_text("mine")
    for settings in (CONFIG, CONFIG | {"rerun": True}):
        with pytest.raises(OccupiedError, match=name):
            look(place, settings)
    named = tmp_path / f"x-{run_key(CONFIG, {})}"  # as attnexp alone names folders
    place.rename(named)
    assert look(named, CONFIG).status in ("new", "unreadable")


def test_no_run_lies_inside_another(write_run, tmp_path):
    outer = write_run("outer")
    with pytest.raises(OccupiedError, match=f"inside the run {outer}"):
        look(outer / "deeper" / "run", CONFIG)
    with pytest.raises(OccupiedError, match="holds the run outer"):
        look(tmp_path / "outputs", CONFIG)
