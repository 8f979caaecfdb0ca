"""Verdicts of a card, on cases that are worked out by hand."""

import math
from typing import Any

import msgspec
import numpy as np
import pytest
from cards.example import row, trial

from attnexp.cards.card_file import RowResult
from attnexp.cards.judge import ahead, counts, judged, largest, says_nothing, verdicts

CARDS = 200
WITHOUT: dict[str, Any] = {"chance": None, "unit": ""}

HIGH = (0.99, 1.0, 0.98, 0.99, 1.0, 0.99)
LOW = (0.01, 0.0, 0.02, 0.01, 0.0, 0.0)
MIDDLE = (0.50, 0.52, 0.48, 0.51, 0.53, 0.49)
ABOVE = (0.60, 0.61, 0.59, 0.63, 0.64, 0.58)
"""Above MIDDLE at each of six seeds: of 64 flips of signs two are as extreme, so p is 1/32,
and any shift from 0.09 to 0.12 leaves some seed above and some below, or equal."""

CASES = {
    "fisher": (HIGH, LOW, "better", "6 of 6 and 0 of 6 seeds learned, p = 0.0022"),
    "fisher, the other way": (LOW, HIGH, "worse", "0 of 6 and 6 of 6 seeds learned, p = 0.0022"),
    "fisher, of shares": (
        HIGH[:5],
        HIGH + (0.0,) * 14,
        "better",
        "5 of 5 and 6 of 20 seeds learned",
    ),
    "a mean": (ABOVE, MIDDLE, "better", "0.6083 and 0.505, difference 0.1033 [0.09, 0.12]"),
    "a mean, the other way": (MIDDLE, ABOVE, "worse", "difference -0.1033 [-0.12, -0.09]"),
    "a ceiling": (HIGH, HIGH[::-1], "both solve it", "exact_match 0.9917 and 0.9917"),
    "a floor": (LOW, LOW[::-1], "neither learns", "exact_match"),
    "the same": (MIDDLE, tuple(v + 0.001 for v in MIDDLE), "equal", "difference -0.001"),
    "noise": (MIDDLE, (0.4, 0.7, 0.4, 0.6, 0.4, 0.6), "tied", "6 seeds"),
    # p = 0.061, between the level and twice the level
    "six of six and two of six": (HIGH, HIGH[:2] + LOW[2:], "tied", "6 seeds"),
    # five of six learn: Fisher's test does not tell them from six, and the means have no verdict
    "seeds that fail": ((1.0,) * 5 + (0.0,), HIGH, "tied", "6 seeds"),
    "five seeds": (ABOVE[:5], MIDDLE[:5], "too few seeds", "5 seeds"),
}


@pytest.mark.parametrize(("ours", "theirs", "word", "because"), CASES.values(), ids=CASES)
def test_a_verdict(ours, theirs, word, because):
    (verdict,) = verdicts(trial(row("mine", *ours), row("other", *theirs)))
    assert verdict.word == word
    assert because in verdict.because


def test_a_run_that_diverged_counts_with_the_worst_value():
    ours = row("mine", *HIGH[:1], diverged=[2, 3, 4, 5, 6])
    (verdict,) = verdicts(trial(ours, row("other", *HIGH)))
    assert verdict.word == "worse"
    assert "1 of 6 and 6 of 6" in verdict.because
    none = row("mine", diverged=[1, 2, 3, 4, 5, 6])
    (verdict,) = verdicts(trial(none, row("other", *HIGH)))
    assert (verdict.word, verdict.because[:6]) == ("worse", "0 of 6")


def test_a_row_without_a_result_is_skipped_with_its_reason():
    lost = row("mine", lost=6, why="ValueError: no")
    found = verdicts(trial(lost, row("other", *HIGH), row("third", *LOW)))
    assert [verdict.word for verdict in found] == ["no value", "no value"]
    assert found[0].because == "mine: ValueError: no"
    (first, second) = verdicts(trial(row("mine", *HIGH), lost, row("third", *LOW)))
    assert (first.word, second.word) == ("no value", "better")


@pytest.mark.parametrize(
    ("first", "word", "because"),
    [
        (1, "better", "8 seeds"),
        (3, "better", "6 seeds"),
        (5, "too few seeds", "4 seeds"),
        (20, "too few seeds", "0 seeds"),
    ],
)
def test_rows_with_unlike_seeds_are_judged_by_the_shared_ones(first, word, because):
    ours = (*ABOVE, 0.6, 0.61)
    numbers = {"exact_match": {first + i: 0.5 - i / 100 for i in range(8)}}
    card = [trial(row("mine", *ours), RowResult("other", [], numbers), **WITHOUT)]
    ((verdict,),) = judged(card)
    assert verdict.word == word
    assert verdict.because.endswith(because)
    assert ahead(card[0]) == [True, word != "better"] if first < 20 else [False, False]


def test_lower_is_better_if_the_metric_says_so():
    errors: dict[str, Any] = {"better": "lower", "unit": "", "chance": None, "metric": "test_mse"}
    ours, theirs = (row(n, *v, number="test_mse") for n, v in (("mine", MIDDLE), ("b", ABOVE)))
    (verdict,) = verdicts(trial(ours, theirs, **errors))
    assert verdict.word == "better"


@pytest.mark.parametrize(
    ("unit", "ours", "theirs", "size"),
    [
        ("share", 0.2, 0.8, 0.6),
        ("of 100", 20.0, 80.0, 0.6),
        ("nats", 0.2, 0.8, 0.75),  # of all that a loss of 0.8 can fall
        ("y^2", 8.0, 2.0, 0.75),
        ("nats", 0.0, 5.0, 1.0),
        ("nats", 0.0, 0.0, 0.0),
        ("", -1.0, 3.0, 4 / 6),  # from -3 to 3
        ("", 3.0, 3.0, 0.0),
    ],
)
def test_the_size_is_the_share_of_all_that_could_be(unit, ours, theirs, size):
    rows = (row(name, *[mean] * 6) for name, mean in (("mine", ours), ("other", theirs)))
    (verdict,) = verdicts(trial(*rows, unit=unit, better="lower", chance=None))
    assert verdict.size == pytest.approx(size)
    assert 0 <= verdict.size <= 1


def test_the_largest_differences_come_first_and_are_at_most_three():
    rows = (row(f"other {i}", *other) for i, other in enumerate((MIDDLE, LOW, HIGH, ABOVE)))
    (found,) = judged([trial(row("mine", *ABOVE), *rows)])
    named = largest(found)
    assert [verdict.word for verdict in named] == ["better", "worse", "better"]
    assert named[0].size == pytest.approx(0.6017, abs=1e-3)
    assert named[0].sentence.startswith("reverse: mine is better than other 1 (exact_match")
    assert dict(counts(found))["better"] == 2


def other_signs(*values):
    """The same numbers, half of them with the other sign."""
    return tuple(value * (-1) ** i for i, value in enumerate(values))


def test_a_difference_holds_over_a_card_if_no_other_flip_of_it_gives_one_as_large():
    """Worked out by hand: z of six differences d is |sum d| / norm d, at most the root of 6."""
    one = trial(row("mine", *ABOVE), row("other", *MIDDLE), chance=None, unit="")
    alone = judged([one])[0][0]
    assert (alone.word, alone.holds, alone.in_table()) == ("better", True, "better")
    # the differences of `one` are .1, .09, .11, .12, .11, .09: their z is 2.436
    nothing = (0.0,) * 6
    even = trial(row("mine", *other_signs(*(0.1,) * 6)), row("other", *nothing), **WITHOUT)
    assert math.sqrt(6) > 2.436, "alternate signs reach it, when they are flipped"
    apart = judged([one, even])
    assert [own[0].holds for own in apart] == [False, False]
    assert apart[0][0].in_table() == "better?"
    assert apart[0][0].in_table(of_costs=True) == "faster"
    # of differences that sizes alone keep apart, no flip reaches 2.436
    uneven = trial(row("mine", 0.9, -0.1, 0.2, -0.3, 0.1, 0.0), row("other", *nothing), **WITHOUT)
    assert [own[0].holds for own in judged([one, uneven])] == [True, False]


@pytest.mark.slow
@pytest.mark.check
def test_a_card_of_a_baseline_by_another_name_has_one_that_holds_on_one_in_twenty():
    """Twenty trials of two baselines, in which nothing differs: some verdict on most cards."""
    generator = np.random.default_rng(0)
    any_word, any_holds = 0, 0
    for _ in range(CARDS):
        trials = []
        for _ in range(20):
            numbers = generator.normal(size=(3, 6)).tolist()
            rows = [row(name, *own) for name, own in zip("abc", numbers, strict=True)]
            trials.append(trial(*rows, **WITHOUT))
        found = [verdict for own in judged(trials) for verdict in own]
        any_word += any(verdict.word in ("better", "worse") for verdict in found)
        any_holds += any(verdict.holds for verdict in found)
    assert any_word > CARDS / 4
    assert any_holds <= 0.05 * CARDS + 2 * math.sqrt(0.05 * 0.95 * CARDS)


@pytest.mark.parametrize(
    ("others", "nothing"),
    [([HIGH, HIGH], True), ([HIGH, MIDDLE], False), ([HIGH, ()], True), ([()], False)],
)
def test_a_trial_whose_rows_are_all_at_the_ceiling_says_nothing(others, nothing):
    rows = [row("mine", *HIGH), *(row(f"row{i}", *own) for i, own in enumerate(others))]
    assert says_nothing(judged([trial(*rows)])[0]) == nothing


def test_rows_of_which_no_seed_learned_may_be_told_apart():
    """0.31 and 0.1 at each of six seeds: nobody learned, and one row is better."""
    ours, theirs = (tuple(mean + i / 1000 for i in range(6)) for mean in (0.31, 0.1))
    (verdict,) = verdicts(trial(row("mine", *ours), row("other", *theirs)))
    assert verdict.word == "better"


ONE = (1.0, 0.0, 0.0, 0.01, 0.0, 0.02)
"""One seed learned: Fisher's p next to six of six is 0.015, and that of the means is 4 of 64."""


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ((HIGH, LOW, HIGH[::-1]), [True, False, True]),
        (((1.0,) * 6, ONE), [True, False]),
        ((LOW, LOW[::-1]), [False, False]),
        ((ABOVE, MIDDLE), [True, False]),
        ((MIDDLE, (0.4, 0.7, 0.4, 0.6, 0.4, 0.6)), [True, True]),
        ((MIDDLE, ()), [False, False]),
    ],
)
def test_the_rows_that_are_ahead(rows, expected):
    found = trial(*(row(f"row{i}", *values) for i, values in enumerate(rows)))
    assert ahead(found) == expected


@pytest.mark.parametrize(
    ("ours", "theirs", "word"),
    [
        ([], [0.11, 0.1, 0.12, 0.1, 0.11, 0.1], "worse"),
        ([0.11, 0.1, 0.12, 0.1, 0.11, 0.1], [], "better"),
        ([], [], "neither learns"),
        ([0.11, 0.1, 0.12], [0.11, 0.1, 0.12, 0.1, 0.11, 0.1], "tied"),
    ],
)
def test_seeds_that_diverged_have_not_learned_where_lower_is_better(ours, theirs, word):
    """The third row has the largest error, which stands for the errors that have no end."""
    rows = [
        row("mine", *ours, diverged=list(range(len(ours) + 1, 7))),
        row("theirs", *theirs, diverged=list(range(len(theirs) + 1, 7))),
        row("third", *[0.15, 0.2, 0.16, 0.15, 0.2, 0.16]),
    ]
    of_errors = trial(*rows, better="lower", unit="y^2", chance=0.9)
    assert verdicts(of_errors)[0].word == word


@pytest.mark.parametrize(
    ("ratio", "word"),
    [(1.5, "worse"), (1.12, "worse"), (1.08, "equal"), (0.92, "equal"), (0.9, "better")],
)
def test_costs_within_a_tenth_are_not_told_apart(ratio, word):
    """Six rounds, each with nearly the same ratio."""
    baseline = (0.01, 0.02, 0.015, 0.012, 0.018, 0.011)
    subject = tuple(own * (ratio + i / 1e4) for i, own in enumerate(baseline))
    rows = (row("mine", *subject, number="seconds"), row("other", *baseline, number="seconds"))
    costs = trial(*rows, metric="seconds", better="lower", unit="", chance=None, equal_within=0.1)
    costs = msgspec.structs.replace(costs, words=[])
    (verdict,) = verdicts(costs)
    assert verdict.word == word
    assert ahead(costs) == [False, False]


def test_costs_with_a_wide_ratio_about_a_tenth_are_not_told_apart():
    """All six rounds are slower, by 1% to 25% and by 9% on the mean."""
    ratios = (1.01, 1.25, 1.02, 1.15, 1.03, 1.09)
    rows = (row("mine", *ratios, number="seconds"), row("other", *(1.0,) * 6, number="seconds"))
    costs = trial(*rows, metric="seconds", better="lower", unit="", chance=None, equal_within=0.1)
    ((verdict,),) = judged([msgspec.structs.replace(costs, words=[])])
    assert (verdict.word, verdict.in_table(of_costs=True)) == ("tied", "tied")
    ((apart,),) = judged([costs])
    assert apart.word == "worse", "as a metric"
