"""One run on disk, read through its type."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hostile_folders import PLACES, replace
from stored_runs import change_summary

import attnexp
from attnexp.core.errors import RequestError
from attnexp.runs import files
from attnexp.runs.folder import load_run
from attnexp.runs.lock import hold


@pytest.fixture
def run(sequence_run: Callable[..., Path]) -> Path:
    """A finished run with everything that one leaves."""
    folder = sequence_run(settings={"model.width": 1.0})
    rows = [{"source": "null", "target": "NA", "decoded": ""}]
    files.write_rows(folder / files.PREDICTIONS, rows)
    return folder


def test_a_run_comes_with_its_attention_as_arrays(run: Path):
    loaded = attnexp.load_run(run)
    assert loaded.metrics["exact"] == 0.98
    assert loaded.config["model"]["width"] == 1.0
    assert loaded.history["loss"].tolist() == [2.0, 1.0, 0.1]
    assert loaded.predictions.to_dict("records") == [
        {"source": "null", "target": "NA", "decoded": ""}
    ]
    assert set(loaded.attention.weights) == {"cross"}
    assert loaded.attention["cross"].shape == (4, 1, 1, 6, 6)
    assert "cross" in loaded.attention
    assert "self" not in loaded.attention
    assert list(loaded.attention) == ["cross"]
    assert loaded.attention.batch["queries"].dtype == np.int64


def test_a_run_that_did_not_come_far_has_empty_parts(write_run):
    loaded = attnexp.load_run(str(write_run("a", status="failed", metrics={})))
    assert loaded.summary.status == loaded.status == "failed"
    assert not loaded.finished
    assert loaded.history.empty
    assert loaded.predictions.empty
    assert not loaded.has_attention


@pytest.mark.parametrize("name", ["summary.json", "attention.safetensors", "metrics.csv"])
def test_a_damaged_run_is_one_sentence(run: Path, name: str):
    (run / name).write_text("step\nx\n")

    def read() -> object:
        loaded = attnexp.load_run(run)
        return loaded.history, loaded.attention

    with pytest.raises(RequestError, match=name):
        read()


def test_a_missing_run_and_missing_attention_are_said(tmp_path, regression_run):
    with pytest.raises(RequestError, match=r"is not there: give the folder of a run"):
        load_run(tmp_path / "nowhere")
    run = load_run(regression_run())
    (run.folder / files.ATTENTION).unlink()
    with pytest.raises(RequestError, match=r"holds no attention\.safetensors"):
        _ = run.attention


def test_snapshots_are_attentions_by_epoch(regression_run):
    snapshots = load_run(regression_run(snapshots=(0, 5))).snapshots
    assert list(snapshots) == [0, 5]
    first = snapshots[0].map("pooling", example=0, layer=0, head=0)
    assert np.allclose(first.weights, 1 / 5)
    assert load_run(regression_run("other")).snapshots == {}


def test_a_run_whose_process_is_gone_died(write_run):
    folder = write_run("a", status="running")
    with hold(folder):
        assert load_run(folder).status == "running"
    assert load_run(folder).status == "died"
    assert not load_run(folder).finished


def test_text_from_the_folder_is_cleaned_for_display_and_kept_as_it_is(write_run):
    settings = {"model.word": "a\x1b[31m"}
    run = load_run(write_run("a", settings, choices={"model": "red\n"}))
    assert run.title == "red\ufffd on sine, seed 0"
    assert run.settings["model.word"] == "a\ufffd[31m"
    assert run.config["model"]["word"] == "a\x1b[31m"


def test_the_first_metrics_are_those_that_the_summary_names(write_run):
    metrics = {"exact_match": 1.0, "gold_mass.layer1.head1": 0.5, "width": 2.0}
    named = load_run(write_run("a", metrics=metrics, headline=["exact_match"]))
    assert [name for name in named.metrics if named.is_headline(name)] == ["exact_match"]
    unnamed = load_run(write_run("b", metrics=metrics))
    assert not unnamed.is_headline("gold_mass.layer1.head1")
    assert unnamed.is_headline("width")


@pytest.mark.check
def test_each_flipped_bit_of_a_file_of_results_is_seen(finished_runs, tmp_path):
    folder = Path(shutil.copytree(finished_runs["curve"], tmp_path / "run"))
    assert load_run(folder).changed_files == []
    written = {name for name in files.OF_RESULTS if (folder / name).exists()}
    assert written >= {files.METRICS, files.PREDICTIONS, files.MODEL, files.ATTENTION}
    draw = random.Random(0)
    for name in [*written] * 6:
        content = (folder / name).read_bytes()
        damaged = bytearray(content)
        damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        (folder / name).write_bytes(damaged)
        assert load_run(folder).changed_files == [name]
        (folder / name).write_bytes(content)
    assert load_run(folder).changed_files == []


@pytest.mark.parametrize("place", ["empty", "folder", "pipe", "dangling", "device", "sparse"])
def test_what_stands_in_the_place_of_a_file_of_results_is_changed(finished_runs, tmp_path, place):
    folder = Path(shutil.copytree(finished_runs["curve"], tmp_path / "run"))
    replace(folder / files.MODEL, PLACES[place])
    assert load_run(folder).changed_files == [files.MODEL]


def test_files_that_are_gone_or_of_a_run_without_digests_are_not_changed(finished_runs, tmp_path):
    folder = Path(shutil.copytree(finished_runs["curve"], tmp_path / "run"))
    (folder / files.MODEL).unlink()
    assert load_run(folder).changed_files == []
    (folder / files.PREDICTIONS).write_text("x\n1\n")
    change_summary(folder, lambda summary: summary.pop("files"))
    assert load_run(folder).changed_files == []


def test_only_files_of_results_are_looked_at(finished_runs, tmp_path):
    folder = Path(shutil.copytree(finished_runs["curve"], tmp_path / "run"))
    other = {"../other": {"size": 0, "sha256": ""}}
    (tmp_path / "other").write_text("of somebody else")
    change_summary(folder, lambda summary: summary["files"].update(other))
    assert load_run(folder).changed_files == []
