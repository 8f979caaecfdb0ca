"""Finding and reading runs: what is taken, what is set aside and why."""

import json
import os
from pathlib import Path

import pytest

from attnexp.errors import RequestError
from attnexp.runs.collection import collect, flatten


def test_runs_are_found_at_any_depth_in_order_of_path(write_run, tmp_path: Path):
    for name in ("b/deep/run", "a", "c"):
        write_run(name)
    found = collect([tmp_path / "outputs"])
    assert [Path(run.folder).name for run in found.runs] == ["a", "run", "c"]
    assert not found.skipped


def test_a_run_may_itself_be_the_path(write_run):
    folder = write_run("a")
    assert [run.folder for run in collect([folder]).runs] == [str(folder)]


def test_a_run_met_twice_counts_once(write_run, tmp_path: Path):
    folder = write_run("a")
    assert len(collect([folder, tmp_path / "outputs", folder.parent]).runs) == 1


def test_nothing_is_sought_inside_runs_hidden_folders_and_links(write_run, tmp_path: Path):
    write_run("a")
    write_run("a/inside")
    write_run(".hidden/b")
    (tmp_path / "outputs" / "latest").symlink_to(tmp_path / "outputs" / "a")
    assert len(collect([tmp_path / "outputs"]).runs) == 1


def test_settings_are_flat_without_seed_and_neutral_settings(write_run):
    run = collect(
        [write_run("a", {"optim.betas": [0.9, 1.0, {"a": None}], "seed": 3, "model.width": None})]
    )
    assert run.runs[0].seed == 3
    assert run.runs[0].settings == {
        "model._target_": "scores.Gaussian",
        "model.width": None,
        "data._target_": "data.Sine",
        "data.num_train": 50,
        "arch._target_": "arch.KernelRegression",
        "arch.heads": 1,
        "optim.betas": "[0.9, 1, {a: null}]",
    }


def test_whole_floats_are_whole_numbers_as_in_the_key():
    assert flatten({"a": {"b": 2.0, "c": True}}) == {"a.b": 2, "a.c": True}


def test_metrics_that_are_no_finite_number_are_missing(write_run):
    run = collect([write_run("a", metrics={"test_mse": None, "big": 10**400})]).runs[0]
    assert run.metrics == {"neighbours": 7.25}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("status", "done"),
        ("key", 5),
        ("choices", ["gaussian"]),
        ("choices", {"model": 3}),
        ("metrics", None),
        ("metrics", {"test_mse": "small"}),
        ("metrics", {"test_mse": True}),
        ("primary", 3),
        ("better", "lower"),
        ("parameters", 1.5),
        ("parameters", True),
        ("seconds", "1"),
        ("device", 0),
    ],
)
def test_a_field_of_another_type_is_named(write_run, field: str, value: object):
    found = collect([write_run("a", **{field: value})])
    assert not found.runs
    assert f"is not the summary of a run: its {field}" in found.skipped[0]


@pytest.mark.parametrize("seed", [None, True, "1", 1.5])
def test_a_seed_is_a_whole_number(write_run, seed: object):
    assert "its seed is" in collect([write_run("a", {"seed": seed})]).skipped[0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "cannot be read"),
        ('{"schema": 1, "conf', "cannot be read"),
        ("[" * 100_000, "cannot be read"),
        ("[]", "is not the summary of a run"),
        ('{"mean": 3}', "is not the summary of a run"),
        ('{"schema": 0, "config": {}}', "has schema version 0; this attnexp reads version 1"),
    ],
)
def test_truncated_foreign_and_older_summaries_are_set_aside(
    tmp_path: Path, text: str, reason: str
):
    (tmp_path / "summary.json").write_text(text)
    found = collect([tmp_path])
    assert not found.runs
    assert reason in found.skipped[0]


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_a_summary_that_is_no_file_is_set_aside(tmp_path: Path, make):
    make(tmp_path / "summary.json")
    assert collect([tmp_path]).skipped == [f"{tmp_path}/summary.json is no file"]


def test_a_folder_that_a_run_has_only_begun_in_is_set_aside(tmp_path: Path):
    (tmp_path / "run" / ".hydra").mkdir(parents=True)
    found = collect([tmp_path])
    assert found.skipped == [f"{tmp_path}/run holds no summary.json yet, or never will"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_closed_folder_is_set_aside(tmp_path: Path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    assert "cannot be opened: Permission denied" in collect([tmp_path]).skipped[0]


def test_names_that_would_steer_a_terminal_are_made_harmless(write_run):
    folder = write_run("a", choices={"model": "\x1b[31mred\n"})
    text = json.loads((folder / "summary.json").read_text())
    text["error"] = "half a pair \ud83d"
    (folder / "summary.json").write_text(json.dumps(text))
    run = collect([folder]).runs[0]
    assert run.choices["model"] == "\ufffd[31mred\ufffd"
    assert run.facts["error"] == "half a pair \ufffd"


@pytest.mark.parametrize(("name", "what"), [("nowhere", "is not there"), ("file", "is no folder")])
def test_a_path_that_is_no_folder_is_a_wrong_request(tmp_path: Path, name: str, what: str):
    (tmp_path / "file").touch()
    with pytest.raises(RequestError, match=what):
        collect([tmp_path / name])
