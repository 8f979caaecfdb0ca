"""The worked examples of CONTRIBUTING.md, applied to a copy of the project and run."""

import json
import re
import subprocess

import pytest
from conftest import ROOT
from imported import python

EXAMPLES = re.findall(r"```diff\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.DOTALL)
SMALL = (
    "data.num_train=40",
    "data.num_validation=10",
    "data.num_test=10",
    "arch.hidden_dim=8",
    "train.max_epochs=2",
)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the project with all examples applied, documents and golden files written anew."""
    copy = tmp_path_factory.mktemp("worked") / "copy"
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
    for example in EXAMPLES:
        subprocess.run(["git", "apply", "-"], input=example, text=True, cwd=copy, check=True)
    ran(copy, copy, "docs/metrics.py")
    drawn = ["-m", "pytest", "-q", "--snapshot-update", "tests/plots/test_drawing.py"]
    ran(copy, copy, *drawn, "-k", "as_it_was")
    return copy


def ran(copy, folder, *words):
    """Run Python in a folder with the copy of the package, and return what it prints."""
    answer = python(*words, cwd=folder, timeout=7200, PYTHONPATH=str(copy))
    assert answer.returncode == 0, answer.stdout[-4000:] + answer.stderr[-4000:]
    return answer.stdout


@pytest.fixture
def run(copy, tmp_path):
    """Runs a command line with the copy, in an empty folder."""
    return lambda *words: ran(copy, tmp_path, "-m", "attnexp", *words)


def test_there_is_one_of_each():
    assert len(EXAMPLES) == 3


def test_a_metric(run, copy, tmp_path):
    printed = run("data=reverse", "model=dot", "figures=false", *SMALL)
    assert "first_symbol_accuracy" in printed
    (summary,) = tmp_path.glob("outputs/*/summary.json")
    content = json.loads(summary.read_text())
    assert 0 <= content["metrics"]["first_symbol_accuracy"] <= 1
    assert content["better"]["first_symbol_accuracy"] == "higher"
    columns = (summary.parent / "metrics.csv").read_text().splitlines()[0].split(",")
    assert "val_first_symbol_accuracy" in columns
    assert "first_symbol_accuracy" in run("results", "--metric", "first_symbol_accuracy")
    assert "| `first_symbol_accuracy` | higher |" in (copy / "docs" / "metrics.md").read_text()


def test_a_column(run, write_run):
    for seed, value in enumerate((0.25, 0.5, 0.75)):
        write_run(f"run{seed}", {"seed": seed}, metrics={"test_mse": value})
    (row,) = json.loads(run("results", "--format", "json"))["rows"]
    assert row["width"] == pytest.approx(row["high"] - row["low"])
    heads = next(line for line in run("results").splitlines() if line.startswith("model"))
    assert "width" in heads.split()


def test_a_picture(run, regression_run):
    folder = regression_run()
    run("plot", str(folder), "--kind", "steps")
    assert (folder / "figures" / "steps.png").is_file()
    assert "steps" in run("plot", "--help")


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["", "tests/docs", "tests/cli", "tests/sweeps"])
def test_every_fast_test_passes_with_them(folder, copy):
    """The fast tests, and those of the other tiers: no example breaks another.

    Left out are this file and the test that applies the examples, which are applied here already.
    """
    words = ["-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "-p", "no:cacheprovider"]
    ignored = ["--ignore", "tests/docs/test_worked_examples.py"]
    ignored += ["-k", "not test_the_worked_examples_are_changes_of_the_files_as_they_are_now"]
    ran(copy, copy, *words, *ignored, *filter(None, [folder]))
