"""Every command and the Python example of docs/results.md, on runs made by hand."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from attnexp.cli import main as cli
from attnexp.runs import files

PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text()
COMMANDS = [
    line.partition("  #")[0].strip() for line in PAGE.splitlines() if line.startswith("attnexp ")
]
ATTENTION = {
    "queries": np.zeros((1, 2, 1)),
    "keys": np.zeros((1, 3, 1)),
    "targets": np.zeros((1, 2, 1)),
    "mask": np.ones((1, 2, 3), bool),
    "target_mask": np.ones((1, 2), bool),
    "weights.pooling": np.full((1, 1, 1, 2, 3), 1 / 3),
}
"""Uniform attention of two test points to three training points."""


@pytest.fixture(autouse=True)
def _runs(write_run, tmp_path: Path, monkeypatch) -> None:
    for model in ("gaussian", "boxcar"):
        for seed in (0, 1):
            folder = write_run(
                f"{model}{seed}",
                {"model._target_": model, "seed": seed},
                choices={"model": model},
                metrics={"loo_mse": 0.5 + seed},
            )
            files.write_tensors(folder / files.ATTENTION, ATTENTION, {})
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("line", COMMANDS)
def test_command(line: str, capsys):
    code = cli.run(shlex.split(line)[1:])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    assert captured.out
    assert not captured.err


def test_python_example():
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(example, {})
