"""What a table says in sentences: its verdict, the reasoning, and what to run next."""

from attnexp.tables.entries import Request
from attnexp.tables.reports import configurations_report


def told(runs, **request):
    return configurations_report(runs, Request(**request))


def test_the_verdict_names_the_best_the_worse_and_the_undecided(sweep_of):
    one = [0.1, 0.2, 0.15, 0.12, 0.18, 0.11]
    near = [0.1, 0.24, 0.11, 0.14, 0.19, 0.1]
    runs = sweep_of({"a": one, "b": [value + 1 for value in one], "c": near})
    (verdict,) = told(runs).verdicts
    assert verdict == (
        "a has the lowest mean test_mse, 0.1433. Worse: b by 1. Not told apart from it: c"
    )
    assert "Equal to it: c" in told(runs, equal_within=0.5).verdicts[0]


def test_too_few_seeds_are_named_with_what_was_seen(sweep_of):
    report = told(sweep_of({"a": [0.1, 0.2], "b": [0.5, 0.6]}))
    assert report.verdicts[0].endswith("Too few seeds for a verdict: b worse on 2 of 2 seeds")
    assert any("a verdict takes at least 6 seeds" in note for note in report.notes)


def test_the_reasoning_is_told_where_it_is_asked_for(sweep_of):
    one = [0.1, 0.2, 0.15, 0.12, 0.18, 0.11]
    runs = sweep_of({"a": one, "b": [value + 1 for value in one]})
    _, reasons = told(runs, explain=True).verdicts
    assert reasons.startswith("b against a: 6 pairs of results, one per seed.")
    assert "2^6 = 64 ways" in reasons
    assert reasons.endswith("p = 0.03125; at most 0.05: worse.")


def test_a_tie_names_the_seeds_that_would_find_its_difference(sweep_of):
    one = [0.1, 0.2, 0.15, 0.12, 0.18, 0.11]
    runs = sweep_of({"a": one, "c": [0.13, 0.19, 0.16, 0.11, 0.21, 0.14]})
    (note,) = (note for note in told(runs).notes if "if at all" in note)
    assert "a and c differ by 0.01333" in note
    assert "seeds in all find it in 4 of 5 tables" in note


def test_a_tie_that_so_many_seeds_mostly_find_takes_one_more(sweep_of):
    """The third row is as clear under another choice of signs, so six seeds are not enough."""
    near = [1.0, 1.5, 2.0, 1.0, 1.2, 1.1]
    runs = sweep_of({"a": [0.0] * 6, "b": near, "c": [9.0, -5.0, 9.0, -5.0, 9.0, -5.0]})
    (note,) = (note for note in told(runs).notes if "if at all" in note)
    assert "a and b differ by 1.3, if at all: 7 seeds in all" in note
