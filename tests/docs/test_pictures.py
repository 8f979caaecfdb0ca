"""Every attnexp command in docs/pictures.md is one that attnexp takes."""

import re
import shlex
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "pictures.md").read_text()
COMMANDS = re.findall(r"^(attnexp .*?)(?:  +#.*)?$", PAGE, flags=re.MULTILINE)
OURS = ("plot", "show", "report")


@pytest.mark.parametrize("line", [line for line in COMMANDS if line.split()[1] in OURS])
def test_a_command_about_runs_works(line, regression_run, sequence_run, in_process):
    """RUN is a run of sequences where examples are asked for, else one of regression."""
    write, more = regression_run, {"snapshots": (0, 2)}
    if "--example" in line:
        write, more = sequence_run, {"examples": 5}
    write("outputs/RUN", **more)
    write("outputs/OTHER", settings={"model.width": 3.0}, **more)
    answer = in_process(*shlex.split(line)[1:])
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("line", [line for line in COMMANDS if line.split()[1] not in OURS])
def test_a_command_that_runs_composes(line, in_process):
    assert in_process(*shlex.split(line)[1:], "--cfg", "job").returncode == 0
