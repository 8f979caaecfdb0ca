"""Sentences that a table has to bear out, against the signs of the differences counted by hand."""

import itertools
import re

import numpy as np
import pytest

from attnexp.core.errors import RequestError
from attnexp.tables.entries import TableRequest, divide
from attnexp.tables.grid import TableOutcome
from attnexp.tables.required import answers, read_requirement

LOW = [0.1, 0.12, 0.11, 0.13, 0.1, 0.12]
HIGH = [0.2, 0.21, 0.23, 0.22, 0.25, 0.21]
BOTH = [0.1, 0.25, 0.1, 0.25, 0.1, 0.25]


def asked(frame, *sentences, **request):
    tables = divide(frame, TableRequest(**request))
    return list(answers(tables, [read_requirement(each) for each in sentences]))


def outcomes(frame, *sentences):
    return [answer.outcome for answer in asked(frame, *sentences)]


@pytest.fixture
def three(sweep_of):
    return sweep_of({"a": LOW, "b": HIGH, "c": BOTH})


def test_a_sentence_holds_is_not_shown_or_is_false(three):
    assert outcomes(three, "a better than b", "b worse than a") == [TableOutcome.HOLDS] * 2
    assert outcomes(three, "b better than a", "a worse than b") == [TableOutcome.FALSE] * 2
    assert outcomes(three, "a better than c", "c worse than a") == [TableOutcome.NOT_SHOWN] * 2


def test_an_earlier_verdict_decides_as_in_the_table(frame):
    """Ten seeds are less clear than the first six, at which the rows were told apart."""
    ahead = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, -1.0, -1.0, 1.0, 1.0]
    runs = frame(
        *(
            (
                {"seed": seed, "model._target_": name},
                {
                    "choices": {"model": name, "data": "sine"},
                    "metrics": {"test_mse": value},
                    "command": "first" if seed < 6 else "more",
                    "started": f"2026-01-01T0{int(seed >= 6)}:00:00+00:00",
                },
            )
            for name, values in (("a", ahead), ("b", [0.0] * 10))
            for seed, value in enumerate(values)
        )
    )
    assert outcomes(runs, "b better than a", "a better than b") == [
        TableOutcome.HOLDS,
        TableOutcome.FALSE,
    ]


def test_a_margin_is_held_against_both_ends_of_the_interval(sweep_of):
    two = sweep_of({"a": LOW, "b": [value + 0.02 for value in LOW]})
    expected = {
        "b equal to a within 0.03": TableOutcome.HOLDS,
        "b equal to a within 0.01": TableOutcome.FALSE,
        "a not worse than b": TableOutcome.HOLDS,
        "b not worse than a within 0.03": TableOutcome.HOLDS,
        "b not worse than a within 0.01": TableOutcome.FALSE,
        "b not worse than a": TableOutcome.FALSE,
    }
    assert dict(zip(expected, outcomes(two, *expected), strict=True)) == expected
    wide = sweep_of({"a": LOW, "b": BOTH})
    for sentence in ("b equal to a within 0.1", "b not worse than a within 0.1"):
        assert outcomes(wide, sentence) == [TableOutcome.NOT_SHOWN]


def test_below_six_seeds_it_says_how_many_would_do_and_not_the_fewest(sweep_of):
    few = sweep_of({"a": [0.10, 0.30, 0.20], "b": [0.12, 0.20, 0.31]})
    (answer,) = asked(few, "a better than b")
    needed = int(re.search(r"about (\d+) would do", answer.because)[1])
    assert needed > 20
    equal = sweep_of({"a": [0.1, 0.3], "b": [0.3, 0.1]})
    (answer,) = asked(equal, "a better than b")
    assert "6 seeds are the fewest that decide" in answer.because


@pytest.mark.parametrize("seed", range(15))
def test_two_rows_are_told_apart_as_by_all_signs(sweep_of, seed):
    rng = np.random.default_rng(seed)
    one, other = rng.normal(size=8), rng.normal(rng.choice([0.0, 1.0, 2.0]), size=8)
    signs = np.array(list(itertools.product((1, -1), repeat=8)))
    sums = abs(signs @ (one - other))
    p = np.mean(sums >= sums[0] - 1e-9)
    level = 1 / 32 + (0.05 - 1 / 32) * (1 - 6 / 8)
    (outcome,) = outcomes(sweep_of({"a": one.tolist(), "b": other.tolist()}), "a better than b")
    right = TableOutcome.HOLDS if one.mean() < other.mean() else TableOutcome.FALSE
    assert outcome == (right if p <= level else TableOutcome.NOT_SHOWN)


def test_an_open_sentence_says_what_would_tell(sweep_of):
    (answer,) = asked(sweep_of({"a": LOW[:3], "b": HIGH[:3]}), "a better than b")
    assert "on 3 seeds; about 6 would do" in answer.because
    assert answer.text.startswith("not shown: a better than b: test_mse -0.")


def test_an_open_sentence_that_points_the_other_way_names_no_seeds(sweep_of):
    (answer,) = asked(sweep_of({"a": LOW[:3], "b": HIGH[:3]}), "b better than a")
    assert answer.because.endswith("on 3 seeds; so far it is the other way")
    (answer,) = asked(sweep_of({"a": LOW[:1], "b": HIGH[:1]}), "a better than b")
    assert answer.because == "one seed"


def test_rows_with_settings_have_either_form_of_their_names(frame):
    runs = frame(
        *(
            (
                {"seed": seed, "model._target_": "g", "model.width": width},
                {"choices": {"model": "g", "data": "sine"}, "metrics": {"test_mse": value + seed}},
            )
            for width, value in ((1, 1.0), (2, 3.0))
            for seed in range(6)
        )
    )
    for one in ("model.width=1", '"model.width=1"'):
        assert outcomes(runs, f"{one} better than 'model.width=2'") == [TableOutcome.HOLDS]


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("a is better", "'a is better' compares no two rows: write 'A better than B'"),
        ("a equal to b", "has no margin above 0"),
        ("a equal to b within -1", "has no margin above 0"),
        ("a equal to b within 1e", "'1e' is no number"),
        ("a better than b within 0.5", "has a margin, which 'better than' does not take"),
        ("a better than d", "the row 'd' is not a choice"),
        ("a better than a", "no table compares 'a' with 'a'"),
    ],
)
def test_other_sentences_are_refused(three, sentence, said):
    with pytest.raises(RequestError, match=said):
        asked(three, sentence)


def test_rows_on_other_data_are_not_compared(frame):
    runs = frame(
        *(
            (
                {"seed": seed, "model._target_": name, "data._target_": data},
                {"choices": {"model": name, "data": data}, "metrics": {"test_mse": float(seed)}},
            )
            for name, data in (("a", "sine"), ("b", "nile"))
            for seed in range(6)
        )
    )
    with pytest.raises(RequestError, match="no table compares 'a' with 'b'"):
        asked(runs, "a better than b")
