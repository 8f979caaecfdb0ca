"""The cache may be old, damaged or gone: what is shown is what lies on disk."""

import json
import multiprocessing
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from attnexp.runs import cache, files
from attnexp.runs.collection import Collected, collect


@pytest.fixture
def outputs(write_run, tmp_path: Path, monkeypatch) -> Path:
    """Ten runs that a cache is worth writing for, and that count as settled."""
    monkeypatch.setattr(cache, "WORTH", 5)
    monkeypatch.setattr(cache, "SETTLED", 0)
    for i in range(10):
        write_run(f"run{i}", {"seed": i}, metrics={"test_mse": i / 10})
    return tmp_path / "outputs"


def change(folder: Path, value: float) -> None:
    content = json.loads((folder / "summary.json").read_text())
    content["metrics"]["test_mse"] = value
    files.write_json(folder / "summary.json", content)


def values(found: Collected) -> list[float]:
    return [run.metrics["test_mse"] for run in found.runs]


@pytest.fixture
def reads(monkeypatch) -> list[Path]:
    """The folders whose summaries are read."""
    seen: list[Path] = []
    read = files.read_summary

    def spy(folder: Path) -> dict:
        seen.append(folder)
        return read(folder)

    monkeypatch.setattr(files, "read_summary", spy)
    return seen


def test_the_second_time_nothing_is_read(outputs: Path, reads: list[Path]):
    first = collect([outputs])
    assert len(reads) == 10
    assert collect([outputs]) == first
    assert len(reads) == 10


def test_a_changed_run_is_read_again_and_a_removed_one_is_gone(outputs: Path, reads: list[Path]):
    collect([outputs])
    change(outputs / "run3", 7.0)
    (outputs / "run4" / "summary.json").unlink()
    found = collect([outputs])
    assert values(found) == [0.0, 0.1, 0.2, 7.0, 0.5, 0.6, 0.7, 0.8, 0.9]
    assert len(reads) == 11


def test_a_change_that_keeps_size_and_time_is_seen(outputs: Path):
    collect([outputs])
    path = outputs / "run3" / "summary.json"
    before = path.stat()
    path.write_text(path.read_text().replace('"test_mse": 0.3', '"test_mse": 0.8'))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert values(collect([outputs]))[3] == 0.8


def test_a_run_that_has_just_changed_is_not_kept(outputs: Path, reads: list[Path], monkeypatch):
    monkeypatch.setattr(cache, "SETTLED", 60_000_000_000)
    collect([outputs])
    collect([outputs])
    assert len(reads) == 20


def test_runs_that_move_together_are_still_right(outputs: Path, tmp_path: Path):
    collect([outputs])
    moved = outputs.rename(tmp_path / "elsewhere")
    assert [run.folder for run in collect([moved]).runs] == [f"{moved}/run{i}" for i in range(10)]


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: whole[:-20],
        lambda whole: whole.replace(b"0.3", b"0.9"),
        lambda whole: whole.replace(b"cache 1", b"cache 0", 1),
        lambda whole: whole.replace(b'"model"', b'"nodel"', 1),
        lambda whole: b"\x80\x04." + whole,
        lambda whole: whole.partition(b"\n")[0] + b"\n[]",
    ],
)
def test_a_damaged_cache_is_no_cache(
    outputs: Path, reads: list[Path], damage: Callable[[bytes], bytes]
):
    first = collect([outputs])
    path = outputs / cache.NAME
    path.write_bytes(damage(path.read_bytes()))
    assert collect([outputs]) == first
    assert len(reads) == 20


def test_a_cache_that_left_out_other_settings_is_no_cache(
    outputs: Path, reads: list[Path], monkeypatch
):
    collect([outputs])
    monkeypatch.setattr(cache, "NEUTRAL", cache.NEUTRAL | {"arch.heads"})
    collect([outputs])
    assert len(reads) == 20


def test_a_cache_may_be_a_folder_or_gone(outputs: Path):
    first = collect([outputs])
    (outputs / cache.NAME).unlink()
    (outputs / cache.NAME).mkdir()
    assert collect([outputs]) == first


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_read_all_the_same(outputs: Path):
    outputs.chmod(0o500)
    try:
        assert len(collect([outputs]).runs) == 10
    finally:
        outputs.chmod(0o700)


def test_few_runs_leave_no_cache(write_run, tmp_path: Path):
    write_run("a")
    collect([tmp_path / "outputs"])
    assert [path.name for path in (tmp_path / "outputs").iterdir()] == ["a"]


def _collect_often(outputs: Path, until: float) -> int:
    cache.WORTH, cache.SETTLED = 1, 0
    wrong = 0
    while time.monotonic() < until:
        (outputs / cache.NAME).unlink(missing_ok=True)
        wrong += values(collect([outputs])) != [i / 10 for i in range(10)]
    return wrong


def test_many_readers_at_once_do_not_disturb_each_other(outputs: Path):
    until = time.monotonic() + 1
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        counts = pool.starmap(_collect_often, [(outputs, until + 2)] * 3)
    assert counts == [0, 0, 0]
    left = {path.name for path in outputs.iterdir() if path.name.startswith(".")}
    assert left <= {cache.NAME}
