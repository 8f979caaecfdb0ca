"""What `make` lists, and what `make run` says that a newcomer can type next."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).resolve().parent.parent / "Makefile"

pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")


def make(folder: Path, *arguments: str) -> str:
    """Runs make as a newcomer does, also where the tests themselves are run by make."""
    apart = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    environment = {name: value for name, value in os.environ.items() if name not in apart}
    return subprocess.run(
        ["make", "--file", MAKEFILE, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout


@pytest.fixture
def after_run(tmp_path: Path) -> str:
    """What `make run` prints, where attnexp is a script that leaves two empty pictures."""
    command = tmp_path / "bin" / "attnexp"
    command.parent.mkdir()
    command.write_text(
        "#!/bin/sh\n"
        "mkdir -p outputs/A/figures\n"
        "touch outputs/A/figures/fit.png outputs/A/figures/attention.png\n"
    )
    command.chmod(0o755)
    printed = make(tmp_path, "run", "BIN=bin", "--old-file=.venv/installed")
    shutil.rmtree(tmp_path / "outputs")
    return printed


def test_help_is_one_aligned_line_for_each_target(tmp_path):
    lines = make(tmp_path, "help").splitlines()
    (phony,) = re.findall(r"^\.PHONY: (.*)$", MAKEFILE.read_text(), flags=re.MULTILINE)
    assert [line.split()[0] for line in lines] == phony.split()
    assert {re.match(r"\S+ +", line).end() for line in lines} == {12}


def test_run_names_the_pictures(after_run):
    assert "outputs/A/figures/attention.png\noutputs/A/figures/fit.png\n" in after_run


def test_what_run_says_to_type_next_works(after_run, regression_run, in_process):
    first, *others = re.findall(r"^  (.*?) +# \S.*$", after_run, flags=re.MULTILINE)
    assert first == ". .venv/bin/activate"
    assert len(others) >= 3
    for seed in (0, 1):
        regression_run(f"outputs/{seed}", config={"seed": seed, "model": {"width": 1.0}})
    for line in others:
        command, *words = shlex.split(line)
        assert command == "attnexp"
        little = ["train.max_epochs=2", "figures=false"] if "seed=1" in words else []
        answer = in_process(*words, *little)
        assert answer.returncode == 0, answer.stderr
