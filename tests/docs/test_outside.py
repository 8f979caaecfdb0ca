"""docs/outside.md: its examples are run as they stand, and each line on a tool names its test."""

import re
import shlex

import pytest
from conftest import ROOT
from documented import blocks

EXAMPLES = blocks("docs/outside.md", "console")
TOOLS = {
    "tensorboard": "event_folders.test_settings_and_results_join_their_run",
    "A folder that `add_hparams` makes": (
        "event_folders.test_scalars_that_are_drawn_together_belong_to_their_run"
    ),
    "`train` and `validation` of Keras": "event_folders.test_the_halves_of_keras_are_one_run",
    "A session that starts": (
        "event_folders.test_a_session_that_starts_voids_the_steps_from_its_own_on"
    ),
    "mlflow": "told_apart.test_two_experiments_with_equal_parameters_are_two_rows",
    "A run that contains others": "told_apart.test_a_run_that_contains_others_is_left_out",
    "trackio": "told_apart.test_groups_of_trackio_are_rows",
    "wandb": "wandb.test_configuration_history_and_summary_come_over",
    "Several files of one run": "wandb.test_files_of_one_run_are_one_run",
    "attnexp's own trackers": "round_trip.test_a_run_that_is_imported_again_is_the_same",
}
"""The beginning of each line on a tool, and the test of what it says."""


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


def test_each_line_on_a_tool_has_a_test():
    text = (ROOT / "docs" / "outside.md").read_text()
    part = text.partition("## Trackers")[2].partition("## ")[0]
    lines = [line.strip(" -*") for line in part.splitlines() if line.strip()]
    assert len(lines) == len(TOOLS)
    for line, (beginning, name) in zip(lines, TOOLS.items(), strict=True):
        assert line.replace("*", "").startswith(beginning)
        module, _, function = name.partition(".")
        folder = "trackers" if module == "round_trip" else "imported"
        path = ROOT / "tests" / folder / f"test_{module}.py"
        assert f"\ndef {function}(" in path.read_text()
