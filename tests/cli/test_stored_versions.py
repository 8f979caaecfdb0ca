"""Runs of this results version are found, compared, probed and verified; others are never mixed."""

import shutil

import pytest
from stored_runs import change_summary
from stored_versions import COMMANDS, STORED, SWEEP, write_own

from attnexp.runs.key import RESULTS_VERSION
from attnexp.runs.summary import read_summary

CURRENT = STORED / f"v{RESULTS_VERSION}"
TRUST = ("--trust", "my_scores")


@pytest.fixture
def stored(tmp_path):
    """Copies a stored run to where its command looks for it, next to the user's own score."""
    write_own(tmp_path)

    def copied(name):
        summary = read_summary(CURRENT / name)
        choices = (summary.choices[group] for group in ("model", "data", "arch"))
        seed, key = summary.config["seed"], summary.key
        folder = tmp_path / "outputs" / "-".join([*choices, f"seed{seed}", key])
        shutil.copytree(CURRENT / name, folder)
        return folder

    return copied


def test_there_is_a_run_of_each_architecture():
    archs = {read_summary(CURRENT / name).choices["arch"] for name in COMMANDS}
    assert archs == {
        *("kernel_regression", "rnn", "pooling", "transformer", "decoder_only", "bottleneck")
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_a_run_is_found_by_its_command_and_repeated_probed_and_decoded(name, stored, succeeds):
    folder = stored(name)
    succeeds(*COMMANDS[name], "figures=false", "device=cpu")
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    assert "different" not in succeeds("verify", str(folder), *TRUST).stdout
    succeeds("probe", str(folder), "uniform", *TRUST)
    if name not in ("gaussian_learned-sine", "boxcar-sine", "own_score"):
        succeeds("decode", str(folder), "3 1 4")


def test_all_are_in_one_table(stored, succeeds):
    folders = {str(stored(name).name) for name in COMMANDS}
    answer = succeeds("results", "--runs", "--format", "csv")
    assert {name for name in folders if name in answer.stdout} == folders
    assert answer.stderr == ""


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_tuned_run_and_those_that_tuned_it_are_found_by_their_command(succeeds, tmp_path):
    folder = shutil.copytree(CURRENT / "tuned", tmp_path / "outputs")
    before = contents(folder)
    assert len([path for path in before if path.name == "summary.json"]) == 3
    succeeds(*SWEEP)
    assert {path: content for path, content in contents(folder).items() if path in before} == before
    assert len([*folder.glob("*/summary.json")]) == 3
    assert "runs made to tune settings" in succeeds("results").stdout


def test_imported_runs_are_in_a_table_with_those_of_their_version(stored, succeeds, tmp_path):
    shutil.copytree(CURRENT / "imported", tmp_path / "imported")
    stored("boxcar-sine")
    answer = succeeds("results", "imported", "outputs", "--format", "csv")
    assert "ahead" in answer.stdout
    assert "0.375" in answer.stdout
    assert "boxcar" in answer.stdout
    assert answer.stderr == ""


@pytest.fixture
def mixed(write_run):
    """Three runs of today, two of version 1 of one commit, and one without a version."""
    for seed in range(3):
        write_run(f"now{seed}", {"seed": seed})
    for seed in range(2):
        old = write_run(f"old{seed}", {"seed": seed}, results_version=1)
        change_summary(
            old, lambda s: s.update(source={"commit": "62fb45" + "0" * 34, "dirty": False})
        )
    write_run("none", {}, results_version=None)


SENTENCE = (
    "2 runs of results version 1, attnexp 0.1.0, commit 62fb45: not compared; `attnexp results "
    "--results-version 1` shows them"
)


@pytest.mark.parametrize("verb", ["results", "status", "report"])
def test_runs_of_another_version_are_said_and_not_counted(verb, mixed, succeeds):
    answer = succeeds(verb, *(["--output", "page.html"] if verb == "report" else []))
    said = " ".join(answer.stderr.split())
    assert SENTENCE in said
    assert "1 run of results version unknown, attnexp 0.1.0: not compared" in said


def test_one_version_is_shown_at_a_time(mixed, succeeds):
    assert "3 runs" in succeeds("results").stdout
    answer = succeeds("results", "--results-version", "1")
    assert "2 runs" in answer.stdout
    assert f"3 runs of results version {RESULTS_VERSION}" in answer.stderr
    assert "1 run" in succeeds("results", "--results-version", "0").stdout
    assert "gaussian" in succeeds("show", "old1").stdout


@pytest.mark.parametrize("verb", ["verify", "probe", "decode"])
def test_a_run_of_another_version_is_refused_by_its_version(verb, mixed, refused):
    more = {"probe": ["uniform"], "decode": ["3 1"]}.get(verb, [])
    assert "results version 1, attnexp 0.1.0, commit 62fb45" in " ".join(
        refused(verb, "outputs/old0", *more).split()
    )


def test_imported_runs_are_compared_with_every_version(write_run, succeeds):
    write_run("now", {"seed": 0})
    write_run("theirs", {"seed": 1}, results_version=None, imported="a table")
    assert "2 runs" in succeeds("results").stdout


def test_the_plan_of_a_sweep_says_which_runs_are_of_another_version(write_run, succeeds, tmp_path):
    succeeds("model=average", "figures=false")
    (folder,) = (tmp_path / "outputs").iterdir()
    name = folder.name.rpartition("-")[0]
    change_summary(folder, lambda s: s.update(results_version=1, key="0" * 10))
    folder.rename(folder.with_name(f"{name}-{'0' * 10}"))
    answer = succeeds("-m", "model=average", "seed=0,1", "figures=false", "--dry-run")
    assert "1 run of results version 1" in answer.stdout
    assert "to do" in answer.stdout
