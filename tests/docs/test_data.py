"""Every attnexp command in docs/data.md works, on a small table."""

import re
import shlex
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "data.md").read_text()
COMMANDS = re.findall(r"^attnexp (?!plot)(.*)$", PAGE, flags=re.MULTILINE)
QUICK = ("train.max_epochs=1", "figures=false")


def test_there_are_commands():
    assert len(COMMANDS) >= 5


@pytest.mark.parametrize("line", COMMANDS)
def test_command(in_process, tmp_path, line):
    rows = "".join(f"{i},{i * i % 7},{i % 3}\n" for i in range(12))
    (tmp_path / "my.csv").write_text(f"a,b,c\n{rows}")
    words = [word.replace("range(10)", "range(1)") for word in shlex.split(line)]
    answer = in_process(*words, *QUICK)
    assert answer.returncode == 0, answer.stderr
