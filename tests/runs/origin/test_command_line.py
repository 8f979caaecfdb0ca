"""The commands that repeat runs."""

import itertools

import pytest

from attnexp.runs.folder import load_run
from attnexp.runs.origin.command_line import command, next_seeds, seed_list
from attnexp.runs.summary import Summary


@pytest.fixture
def typed(write_run):
    """Writes a run for which this was typed, and returns its summary."""
    numbers = itertools.count()

    def write(*overrides: str, config_dir: str | None = None) -> Summary:
        name = f"run{next(numbers)}"
        return load_run(write_run(name, overrides=overrides, config_dir=config_dir)).summary

    return write


def test_the_command_repeats_what_was_typed(typed):
    runs = [
        typed("model=dot", "data=reverse", "seed=0", "rerun=true"),
        typed("model=additive", "data=reverse", "seed=1"),
    ]
    assert command(runs, [3, 4]) == "attnexp -m model=dot,additive data=reverse seed=3,4"


def test_the_command_is_quoted_for_a_shell(typed):
    run = typed("optim.betas=[0.9, 0.99]", "model=it's")
    assert command([run], range(7)) == (
        "attnexp -m 'optim.betas=[0.9, 0.99]' 'model=it'\"'\"'s' 'seed=range(0,7)'"
    )


def test_the_command_knows_the_users_own_choices(typed):
    run = typed("model=mine", config_dir="/my conf")
    assert command([run], [1]) == "attnexp --config-dir '/my conf' model=mine seed=1"


def test_what_one_sweep_cannot_say_takes_two(typed):
    crossed = [typed("model=a", "optim.lr=1"), typed("model=b", "optim.lr=2")]
    assert command(crossed, [1, 2]) == (
        "attnexp -m model=a optim.lr=1 seed=1,2 && attnexp -m model=b optim.lr=2 seed=1,2"
    )
    other = [typed("model=a", "~train.clip_norm"), typed("+new=b")]
    assert command(other, [1]) == (
        "attnexp model=a '~train.clip_norm' seed=1 && attnexp +new=b seed=1"
    )


def test_what_cannot_be_said_has_no_command(typed, write_run):
    many = [typed(f"model={model}", f"optim.lr={i}") for i, model in enumerate("abc")]
    assert command(many, [1]) is None
    assert command([load_run(write_run("unsaid")).summary], [1]) is None


def test_seeds_that_some_rows_lack_come_first():
    assert next_seeds([{0, 1, 2}, {0, 1, 2, 5}, {0, 1, 2}], 3) == [5, 6, 7]
    assert next_seeds([{0, 1}], 2) == [2, 3]


def test_long_lists_of_seeds_are_ranges():
    assert seed_list([3, 1, 2]) == "1,2,3"
    assert seed_list(range(1, 7)) == "range(1,7)"
    assert seed_list([0, 2, 3, 4, 5, 6]) == "0,2,3,4,5,6"
