"""Every command in docs/attend.md works, and so does its file."""

import json
import re
import shlex
from pathlib import Path

import pytest
from conftest import choice_names

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "attend.md").read_text()
COMMANDS = re.findall(r"^(attnexp .*?)(?:  +#.*)?$", PAGE, flags=re.MULTILINE)
EXAMPLES = [f"attnexp attend example={name}" for name in choice_names("attend")]
RUN = next((Path(__file__).resolve().parents[1] / "runs" / "stored").glob("gaussian_learned-*"))


@pytest.mark.parametrize("line", [line for line in COMMANDS if line not in EXAMPLES])
def test_a_command_works(line, in_process):
    """The examples alone are computed in tests/cli/test_attend.py."""
    answer = in_process(*shlex.split(line.replace("RUN", str(RUN)))[1:])
    assert answer.returncode == 0, answer.stderr


def test_every_example_is_on_the_page():
    assert set(EXAMPLES) <= set(COMMANDS)


def test_the_file_works(in_process, tmp_path):
    (content,) = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    (tmp_path / "case.yaml").write_text(content)
    answer = in_process("attend", "--from", "case.yaml", "--format", "json")
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout)["mask"] == [[[True, True, False], [True, True, True]]]
