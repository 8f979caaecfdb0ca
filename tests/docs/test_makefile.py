"""What `make` lists, and what `make run` says that a newcomer can type next."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

MAKEFILE = ROOT / "Makefile"

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


def test_help_is_one_aligned_line_for_each_target(tmp_path):
    lines = make(tmp_path, "help").splitlines()
    (phony,) = re.findall(r"^\.PHONY: (.*)$", MAKEFILE.read_text(), flags=re.MULTILINE)
    assert [line.split()[0] for line in lines] == phony.split()
    assert {re.match(r"\S+ +", line).end() for line in lines} == {16}


def test_run_is_the_first_look_and_says_how_to_go_on(tmp_path):
    """The sweep itself names its pictures and the next commands."""
    command = tmp_path / "bin" / "attnexp"
    command.parent.mkdir()
    command.write_text('#!/bin/sh\necho "$@"\n')
    command.chmod(0o755)
    printed = make(tmp_path, "run", "BIN=bin", "--old-file=.venv/installed")
    assert "\n-m experiment=first_look\n" in printed
    assert "\n  . bin/activate  # once in each terminal" in printed
