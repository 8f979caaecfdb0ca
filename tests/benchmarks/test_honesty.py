"""The simulations in small: what the tables claim holds, and the simulations can see it broken."""

import importlib.util
import math
import sys
from pathlib import Path

import pytest

from attnexp.tables.statistics import betting_p, student_p

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "honesty.py"

specification = importlib.util.spec_from_file_location("honesty", SCRIPT)
honesty = importlib.util.module_from_spec(specification)
sys.modules["honesty"] = honesty  # where dataclasses look for the annotations
specification.loader.exec_module(honesty)

TRIALS = 100
MOST = 0.05 + 2.3 * math.sqrt(0.05 * 0.95 / TRIALS)
"""5%, and 2.3 standard errors."""


@pytest.mark.parametrize(
    ("name", "rows", "seeds"),
    [
        *((name, 2, seeds) for name in honesty.EQUALS for seeds in (6, 10)),
        ("lognormal against a constant", 8, 20),
        ("the same with noise of 0.01", 8, 20),
    ],
)
def test_equal_rows_are_called_different_in_at_most_5_percent_of_tables(name, rows, seeds):
    equals = honesty.EQUALS[name]
    assert honesty.false_verdicts(equals, equals.test, TRIALS, rows, [seeds]) <= MOST


@pytest.mark.parametrize(
    "name", ["normal", "lognormal against a constant", "the same with noise of 0.01"]
)
def test_nor_by_looking_four_times(name):
    equals = honesty.EQUALS[name]
    assert honesty.false_verdicts(equals, equals.test, TRIALS, 2, honesty.LOOKS) <= MOST


@pytest.mark.parametrize(
    ("name", "rows", "looks"),
    [
        ("normal", 2, honesty.LOOKS),
        ("lognormal against a constant", 2, [5]),
        ("lognormal against a constant", 8, [10]),
        ("the same with noise of 0.01", 2, [3]),
        ("the same with noise of 0.01", 8, [3]),
    ],
)
def test_the_plain_t_test_claims_more(name, rows, looks):
    found = honesty.false_verdicts(honesty.EQUALS[name], honesty.student, 4 * TRIALS, rows, looks)
    assert found > MOST


@pytest.mark.parametrize("seeds", [3, 10])
@pytest.mark.parametrize("name", honesty.SHARES)
def test_intervals_of_shares_cover_the_mean(name, seeds):
    trials = 60
    _, covered, _ = honesty.share_coverage(honesty.SHARES[name], seeds, trials)
    assert covered >= 0.93 - 2.3 * math.sqrt(0.05 * 0.95 / trials)


def test_students_intervals_of_shares_do_not():
    covered, _, _ = honesty.share_coverage(honesty.SHARES["1 with 0.95, else 0.4"], 3, 60)
    assert covered < 0.5


@pytest.mark.parametrize(
    ("draw", "gap", "test", "seeds"),
    [(honesty.NORMAL, 4, student_p, 10), (honesty.beta(0.05, 0.02), 0.6, betting_p, 20)],
)
def test_clear_differences_are_found(draw, gap, test, seeds):
    assert honesty.found(draw, gap, test, 50, 2, seeds) > 0.9
