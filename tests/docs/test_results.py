"""Every command and the Python example of docs/results.md, on runs made by hand."""

import re
import shlex
from pathlib import Path

import pytest

from attnexp.cli import main as cli

PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text()
COMMANDS = [
    line.partition("  #")[0].strip() for line in PAGE.splitlines() if line.startswith("attnexp ")
]


@pytest.fixture(autouse=True)
def _runs(regression_run, tmp_path: Path, monkeypatch) -> None:
    for model in ("gaussian", "boxcar"):
        for seed in (0, 1):
            regression_run(
                f"outputs/{model}{seed}",
                seed=seed,
                settings={"model._target_": model},
                choices={"model": model},
                metrics={"test_mse": 0.5, "loo_mse": 0.5 + seed},
            )
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
