"""docs/outside.md and docs/gate.md: examples are run as they stand, as are TensorBoard's lines."""

import math
import re
import shlex

import pytest
from conftest import ROOT
from documented import blocks

from attnexp import load_results

EXAMPLES = [*blocks("docs/outside.md", "console"), *blocks("docs/gate.md", "console")]
PYTHON = blocks("docs/outside.md", "python")
"""The function that writes a table, and the lines of each tool's own reader."""


def steps(example):
    """Yield the command and the lines below it, of each command of an example."""
    for part in re.split(r"^\$ ", example, flags=re.MULTILINE)[1:]:
        command, _, below = part.partition("\n")
        yield shlex.split(command), below


@pytest.mark.parametrize("example", EXAMPLES, ids=range(1, len(EXAMPLES) + 1))
def test_an_example_is_as_it_stands(example, in_process, tmp_path):
    for words, below in steps(example):
        if words[0] == "cat":
            (tmp_path / words[1]).write_text(below)
            continue
        answer = in_process(*words[1:])
        said = answer.stderr if answer.returncode else answer.stdout
        wanted = ".*".join(map(re.escape, below.strip().split("...")))
        lines = [line.rstrip() for line in said.strip().splitlines()]
        assert re.fullmatch(wanted, "\n".join(lines), flags=re.DOTALL), said
        assert answer.returncode == (2 if below.startswith("attnexp: ") else 0)


def test_the_lines_for_tensorboard_make_a_table_of_runs(in_process, tmp_path, monkeypatch):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    from torch.utils.tensorboard import SummaryWriter

    monkeypatch.chdir(tmp_path)
    for name, losses in {
        "dot_seed0": (2, 0.5),
        "dot_seed1": (3, math.nan),
        "add_seed0": (1,),
    }.items():
        with SummaryWriter(str(tmp_path / "runs" / name)) as writer:
            for step, loss in enumerate(losses):
                writer.add_scalar("val/loss", loss, step)
    exec("\n".join((PYTHON[0], *(code for code in PYTHON if "EventAccumulator" in code))), {})
    words = ("--metrics", "val/loss", "--name-as", "model")
    assert "imported 3 runs" in in_process("import", "csv", "runs.csv", *words).stdout
    found = load_results("imported")
    keys = zip(found["model"], found["seed"], found["status"], strict=True)
    assert dict(zip(keys, found["val/loss"].fillna(-1), strict=True)) == {
        ("dot", 0, "finished"): 0.5,
        ("dot", 1, "failed"): -1,
        ("add", 0, "finished"): 1,
    }


def test_lines_that_no_test_runs_say_so():
    text = (ROOT / "docs" / "outside.md").read_text()
    for code in PYTHON[1:]:
        ahead = text[: text.index(code)].rpartition("\n**")[2]
        assert ("(not run here)" in ahead) != ("EventAccumulator" in code)
        compile(code, "docs/outside.md", "exec")
