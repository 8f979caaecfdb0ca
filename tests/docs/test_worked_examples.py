"""The worked examples of CONTRIBUTING.md, applied to a copy of the package and run."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = re.findall(r"```diff\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.DOTALL)
SMALL = (
    "data.num_train=40",
    "data.num_validation=10",
    "data.num_test=10",
    "arch.hidden_dim=8",
    "train.max_epochs=2",
)


@pytest.fixture
def copied(tmp_path):
    """Applies an example to a copy, and returns what runs a command with it."""

    def apply(example):
        copy = tmp_path / "copy"
        for folder in ("attnexp", "conf", "hydra_plugins"):
            shutil.copytree(ROOT / folder, copy / folder)
        subprocess.run(["git", "apply", "-"], input=example, text=True, cwd=copy, check=True)

        def run(*words):
            answer = subprocess.run(
                [sys.executable, "-m", "attnexp", *words],
                cwd=tmp_path,
                env={**os.environ, "PYTHONPATH": str(copy)},
                capture_output=True,
                text=True,
                check=False,
            )
            assert answer.returncode == 0, answer.stderr
            return answer.stdout

        return run

    return apply


def test_there_is_one_of_each():
    assert len(EXAMPLES) == 3


def test_a_metric(copied, tmp_path):
    run = copied(EXAMPLES[0])
    printed = run("data=reverse", "model=dot", "figures=false", *SMALL)
    assert "first_symbol_accuracy" in printed
    (summary,) = tmp_path.glob("outputs/*/summary.json")
    content = json.loads(summary.read_text())
    assert 0 <= content["metrics"]["first_symbol_accuracy"] <= 1
    assert content["better"]["first_symbol_accuracy"] == "higher"
    columns = (summary.parent / "metrics.csv").read_text().splitlines()[0].split(",")
    assert "val_first_symbol_accuracy" in columns
    assert "first_symbol_accuracy" in run("results", "--metric", "first_symbol_accuracy")


def test_a_column(copied, write_run):
    run = copied(EXAMPLES[1])
    for seed, value in enumerate((0.25, 0.5, 0.75)):
        write_run(f"run{seed}", {"seed": seed}, metrics={"test_mse": value})
    (row,) = json.loads(run("results", "--format", "json"))["rows"]
    assert row["width"] == pytest.approx(row["high"] - row["low"])
    heads = next(line for line in run("results").splitlines() if line.startswith("model"))
    assert "width" in heads.split()


def test_a_picture(copied, regression_run):
    run = copied(EXAMPLES[2])
    folder = regression_run()
    run("plot", str(folder), "--kind", "steps")
    assert (folder / "figures" / "steps.png").is_file()
    assert "steps" in run("plot", "--help")
