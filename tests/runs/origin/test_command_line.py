"""The commands that repeat runs."""

import itertools

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser

from attnexp.runs.folder import load_run
from attnexp.runs.origin.command_line import command, next_seeds, seed_list, seed_parts
from attnexp.runs.summary import Summary


@pytest.fixture
def typed(write_run):
    """Writes a run for which this was typed, and returns its summary."""
    numbers = itertools.count()

    def write(*overrides: str, config_dir: str | None = None) -> Summary:
        name = f"run{next(numbers)}"
        return load_run(write_run(name, overrides=overrides, config_dir=config_dir)).summary

    return write


REVERSED = ["data=reverse", "seed=0", "rerun=true"], ["data=reverse", "seed=1"]
COMMANDS = {
    "what was typed": (
        [["model=dot", *REVERSED[0]], ["model=additive", *REVERSED[1]]],
        [3, 4],
        "attnexp -m model=dot,additive data=reverse seed=3,4",
    ),
    "quoted for a shell": (
        [["optim.betas=[0.9, 0.99]", "model=it's"]],
        range(7),
        "attnexp -m 'optim.betas=[0.9, 0.99]' 'model=it'\"'\"'s' 'seed=range(0,7)'",
    ),
    "two, for one seed and many in a row": (
        [REVERSED[0]],
        [2, *range(8, 31)],
        "attnexp data=reverse seed=2 && attnexp -m data=reverse 'seed=range(8,31)'",
    ),
    "two, for two sweeps": (
        [["model=a", "optim.lr=1"], ["model=b", "optim.lr=2"]],
        [1, 2],
        "attnexp -m model=a optim.lr=1 seed=1,2 && attnexp -m model=b optim.lr=2 seed=1,2",
    ),
    "two, for other settings": (
        [["model=a", "~train.clip_norm"], ["+new=b"]],
        [1],
        "attnexp model=a '~train.clip_norm' seed=1 && attnexp +new=b seed=1",
    ),
    "none, for a crossing of three": (
        [[f"model={model}", f"optim.lr={i}"] for i, model in enumerate("abc")],
        [1],
        None,
    ),
}


@pytest.mark.parametrize(("runs", "seeds", "line"), COMMANDS.values(), ids=COMMANDS)
def test_runs_have_a_command(typed, runs, seeds, line):
    assert command([typed(*words) for words in runs], seeds) == line


def test_the_command_knows_the_users_own_choices(typed):
    run = typed("model=mine", config_dir="/my conf")
    assert command([run], [1]) == "attnexp --config-dir '/my conf' model=mine seed=1"


def test_a_run_that_does_not_say_what_was_typed_has_no_command(write_run):
    assert command([load_run(write_run("unsaid")).summary], [1]) is None


def test_seeds_that_some_rows_lack_come_first():
    assert next_seeds([{0, 1, 2}, {0, 1, 2, 5}, {0, 1, 2}], 3) == [5, 6, 7]
    assert next_seeds([{0, 1}], 2) == [2, 3]


def test_long_lists_of_seeds_are_ranges():
    assert seed_list([3, 1, 2]) == "1,2,3"
    assert seed_list(range(1, 7)) == "range(1,7)"
    assert seed_list([0, 2, 3, 4, 5, 6]) == "0,2,3,4,5,6"


@pytest.mark.parametrize(
    ("seeds", "texts"),
    [
        ([5, 2, 1], ["1,2,5"]),
        (range(8, 160), ["range(8,160)"]),
        ([2, *range(8, 160)], ["2", "range(8,160)"]),
        ([*range(3, 30), *range(40, 60), 1, 33, 34], ["1,33,34", "range(3,30)", "range(40,60)"]),
        (range(0, 24, 2), ["0,2,4,6,8,10,12,14,16,18,20,22"]),
    ],
)
def test_parts_of_seeds_are_short_and_hydra_reads_each_seed_once(seeds, texts):
    parts = [seed_list(part) for part in seed_parts(seeds)]
    assert parts == texts
    read = []
    for part in parts:
        override = OverridesParser.create().parse_override(f"seed={part}")
        sweep = override.is_sweep_override()
        read += override.sweep_iterator() if sweep else [override.value()]
    assert sorted(read) == sorted(seeds)
