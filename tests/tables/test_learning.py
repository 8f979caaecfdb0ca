"""Rows whose seeds learned or did not."""

import pytest
from english import report_of

from attnexp.select.judge import modes_of
from attnexp.tables.entries import TableRequest, divide

SHARES = {"units": {"test_mse": "share"}, "better": {"test_mse": "higher"}}


def modes(runs):
    (table,) = divide(runs, TableRequest())
    return {entry.row.labels["model"]: modes_of(entry.sample) for entry in table.firsts}


def test_seeds_near_chance_and_near_1_are_two_results(sweep_of):
    found = modes(sweep_of({"a": [0.99, 0.1, 0.95, 0.98], "b": [0.97, 0.96, 0.99, 0.98]}, **SHARES))
    assert str(found["a"]) == "3 of 4"
    assert found["a"].are_two
    assert not found["b"].are_two


@pytest.mark.parametrize("values", [[0.45, 0.55, 0.5, 0.52], [0.99, 0.5, 0.1, 0.98]])
def test_seeds_in_the_middle_are_no_modes(sweep_of, values):
    assert modes(sweep_of({"a": values}, **SHARES))["a"] is None


def test_errors_have_modes_where_chance_is_known(sweep_of):
    values = {"a": [0.9, 0.1, 0.95, 0.2]}
    errors = {"units": {"test_mse": "y^2"}}
    assert modes(sweep_of(values, **errors))["a"] is None
    guessed = errors | {"companions": {"test_mse": {"chance": "baseline_mse"}}}
    runs = sweep_of(values, metrics={"baseline_mse": 1.0}, **guessed)
    assert str(modes(runs)["a"]) == "2 of 4"


def test_a_note_counts_the_seeds_that_learned(sweep_of):
    runs = sweep_of({"a": [0.99, 0.1, 0.95, 0.98], "b": [0.97, 0.96, 0.99, 0.98]}, **SHARES)
    notes = report_of(runs, TableRequest()).notes
    (note,) = (note for note in notes if note.startswith("seeds that learned"))
    assert "b 4 of 4 (up to 53% may fail)" in note
    assert "a 3 of 4 (0.9733 where it did), p = 1" in note


def test_seeds_that_all_learned_say_how_many_may_fail(sweep_of):
    runs = sweep_of({"a": [0.99, 0.98] * 5, "b": [0.97, 0.96] * 5}, **SHARES)
    assert not any(
        note.startswith("seeds that learned")
        for note in report_of(runs, TableRequest(equal_within=0.2)).notes
    )
    notes = report_of(runs, TableRequest(equal_within=0.2, explain=True))
    (note,) = (note for note in notes.notes if note.startswith("seeds that learned"))
    assert "a 10 of 10 (up to 26% may fail); b 10 of 10 (up to 26% may fail)" in note
    assert note.endswith("Intervals and verdicts hold if no seed fails")
    assert "Equal to it if no seed fails: b" in " ".join(notes.verdicts)
