"""`attnexp notebook`: where it writes, and requests that make no sense."""

import json

import pytest


def test_a_notebook_is_named_after_the_run_and_never_replaced_unasked(
    in_process, regression_run, tmp_path
):
    regression_run("mine")
    answer = in_process("notebook", "mine")
    assert (answer.returncode, answer.stdout) == (0, "mine.ipynb\n")
    notebook = tmp_path / "mine.ipynb"
    notebook.write_text("notes")
    refused = in_process("notebook", "mine")
    assert refused.returncode == 2
    assert "mine.ipynb exists, and may hold your notes" in refused.stderr
    assert notebook.read_text() == "notes"
    assert in_process("notebook", "mine", "--output", "mine.ipynb").returncode == 0
    assert json.loads(notebook.read_text())["nbformat"] == 4


def test_runs_below_outputs_are_compared(in_process, regression_run, tmp_path):
    regression_run("outputs/a")
    answer = in_process("notebook")
    assert (answer.returncode, answer.stdout) == (0, "runs.ipynb\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "nowhere is not there"),
        (["empty"], "there are no runs below empty"),
        (["run", "--output", "none/n.ipynb"], "--output: none/n.ipynb cannot be written"),
        (["run", "--output", "empty"], "--output: empty cannot be written"),
        (["damaged"], "attention.safetensors"),
        (["run", "--format", "html"], "unrecognized arguments"),
    ],
)
def test_wrong_requests_are_said(in_process, regression_run, tmp_path, arguments, sentence):
    (tmp_path / "empty").mkdir()
    regression_run()
    (regression_run("damaged") / "attention.safetensors").write_bytes(b"x")
    answer = in_process("notebook", *arguments)
    assert answer.returncode == 2
    (line,) = answer.stderr.splitlines()
    assert sentence in line
    assert len(line) <= 300
    assert not list(tmp_path.glob("*.ipynb"))
