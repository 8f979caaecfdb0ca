"""Every example and command of docs/python.md works, and the page names all that is promised."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "python.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
COMMANDS = re.findall(r"^(attnexp .*?)(?:  +#.*)?$", PAGE, flags=re.MULTILINE)
RUN = next((ROOT / "tests" / "runs" / "stored").glob("gaussian_learned-*"))


@pytest.fixture
def executed(tmp_path, monkeypatch, capsys):
    """Executes an example where a run is at hand, and returns its names and what it printed."""
    shutil.copytree(RUN, tmp_path / "outputs" / "RUN")
    monkeypatch.chdir(tmp_path)

    def execute(example):
        names = {}
        exec(example.replace('"RUN"', '"outputs/RUN"'), names)
        return names, capsys.readouterr().out

    return execute


@pytest.mark.parametrize("example", EXAMPLES, ids=range(1, len(EXAMPLES) + 1))
def test_an_example_works(example, executed):
    _, printed = executed(example)
    assert printed


def test_the_textbook_comes_out(executed):
    (additive,) = [one for one in EXAMPLES if "Additive(query_dim" in one]
    names, _ = executed(additive)
    assert names["context"].round().tolist() == [[[2, 3, 4, 5]], [[10, 11, 12, 13]]]
    (again,) = [one for one in EXAMPLES if "trained_model" in one]
    _, printed = executed(again)
    assert float(printed) < 1e-6


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_works(line, in_process, tmp_path):
    shutil.copytree(RUN, tmp_path / "outputs" / "RUN")
    answer = in_process(*shlex.split(line.replace(" RUN", " outputs/RUN"))[1:])
    assert answer.returncode == 0, answer.stderr
