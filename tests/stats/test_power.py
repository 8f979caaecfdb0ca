"""The smallest difference that seeds show, against simulated tables of two rows."""

import itertools
import math

import numpy as np
import pytest
from english import report_of

from attnexp.stats.compare import Difference, Rule, compare
from attnexp.stats.power import MOST_SEEDS, detectable, seeds_needed
from attnexp.stats.sequential import pair_tests
from attnexp.tables.entries import TableRequest

LOWER = Rule("lower")


def found(effect: float, seeds: int, rule: Rule = LOWER) -> float:
    """The share of 300 tables of normal differences that call the second row worse."""
    tables = np.random.default_rng(seeds).normal(effect, 1, (300, seeds)).tolist()
    zero = {seed: {0: 0.0} for seed in range(seeds)}
    rows = ([zero, {seed: {0: value} for seed, value in enumerate(table)}] for table in tables)
    return sum(compare(row, rule)[1].word == "worse" for row in rows) / 300


@pytest.mark.parametrize("seeds", [6, 7, 8, 10, pytest.param(20, marks=pytest.mark.slow)])
def test_the_detectable_difference_is_found_in_four_of_five_tables(seeds):
    assert found(detectable(seeds, LOWER.level_at(seeds)), seeds) == pytest.approx(0.8, abs=0.07)


def rejected(table: np.ndarray, level: float) -> set[int]:
    """The rows worse than the best by Westfall and Young's largest z, over all ways to sign."""
    best = table.mean(axis=1).argmin()
    pairs = list(itertools.combinations(range(len(table)), 2))
    gaps = np.array([table[i] - table[j] for i, j in pairs])
    signs = np.array(list(itertools.product([1, -1], repeat=table.shape[1])))
    z = np.abs(signs @ gaps.T) / np.linalg.norm(gaps, axis=1)  # ways to sign, pairs
    order = np.argsort(-z[0])
    worse: set[int] = set()
    for place, pair in enumerate(order):
        largest = z[:, order[place:]].max(axis=1)
        if (largest >= z[0, pair] - 1e-9).mean() > level:
            break
        worse |= set(pairs[pair]) - {best} if best in pairs[pair] else set()
    return worse


@pytest.mark.parametrize(("rows", "seeds"), [(2, 6), (3, 7), (8, 6), (8, 8), (8, 10)])
def test_among_more_rows_it_is_the_difference_that_is_found_in_four_of_five_tables(rows, seeds):
    """One row of these is worse: a pair of 8 rows has a part of 28 of the level, not all of it."""
    effect = detectable(seeds, 0.05, math.comb(rows, 2))
    tables = np.random.default_rng(seeds).normal(0, math.sqrt(0.5), (200, rows, seeds))
    tables[:, -1] += effect
    share = np.mean([rows - 1 in rejected(table, 0.05) for table in tables])
    assert share > 0.8 - 2.5 * math.sqrt(0.16 / 200)
    if rows == 8:  # that of a level of one pair is found much more rarely
        tables[:, -1] -= effect - detectable(seeds, 0.05)
        assert np.mean([rows - 1 in rejected(table, 0.05) for table in tables]) < 0.6


def test_it_is_found_over_splits_as_often():
    rule = Rule("lower", overlap=0.25)
    effect = detectable(10, rule.level_at(10), overlap=0.25)
    rng = np.random.default_rng(0)
    common = rng.normal(scale=0.5, size=(300, 1))  # splits share rows: correlation of 0.2
    tables = effect * np.sqrt(1.25) + common + rng.normal(size=(300, 10))
    zero = {seed: {0: 0.0} for seed in range(10)}
    rows = ([zero, dict(enumerate({0: v} for v in table))] for table in tables.tolist())
    share = sum(compare(row, rule)[1].word == "worse" for row in rows) / 300
    assert 0.7 < share < 1.0


@pytest.mark.parametrize("effect", [0.5, 0.8, 1.2, 1.7, 5.0])
def test_seeds_needed_are_the_fewest_that_find_it(effect):
    difference = Difference(-effect * 3, 0.0, 0.0, better=0, worse=0, pairs=2, sd=3.0, tests=1)
    needed = seeds_needed(difference, LOWER)
    assert needed is not None
    assert detectable(needed, LOWER.level_at(needed)) <= effect
    before = needed - 1
    assert needed == LOWER.least or detectable(before, LOWER.level_at(before)) > effect


@pytest.mark.parametrize(
    ("before", "effect"),
    [(6, 1.0), (6, 0.6), (12, 0.6), pytest.param(20, 0.4, marks=pytest.mark.slow)],
)
def test_seeds_needed_after_a_look_find_it_in_four_of_five_tables(before, effect):
    """By tables of two looks, of which the first does not count: it told nothing apart."""
    difference = Difference(-effect, 0.0, 0.0, better=0, worse=0, pairs=before, sd=1.0, tests=1)
    needed = seeds_needed(difference, LOWER)
    assert needed is not None
    came = {s: (("1", "first"),) if s < before else (("2", "more"),) for s in range(needed)}
    tables = np.random.default_rng(before).normal(effect, 1, (300, needed, 1))
    tests = (pair_tests(range(needed), table, [(0, 1)], [came, came]) for table in tables)
    share = np.mean([test.apart[0] for test in tests])
    assert share == pytest.approx(0.8, abs=0.08)


@pytest.mark.parametrize("renewed", [1, 3, 6])
def test_seeds_needed_after_other_code_are_the_first_at_which_any_table_tells(renewed):
    """Of six seeds some were made anew, which takes the first look back; all are clear."""

    def told(seeds):
        again = (("1", "first"), ("2", "again"))
        came = {s: (("1", "first"),) if s < 6 else (("3", "more"),) for s in range(seeds)}
        anew = came | dict.fromkeys(range(renewed), again)
        clear = np.linspace(1.0, 1.01, seeds)[:, None]
        found = pair_tests(range(seeds), clear, [(0, 1)], [anew, came])
        assert found.renewed == renewed
        return bool(found.apart[0])

    difference = Difference(-1.0, 0.0, 0.0, 0, 0, pairs=6, sd=0.01, tests=1, renewed=renewed)
    needed = seeds_needed(difference, LOWER)
    assert needed == next(n for n in range(7, 30) if told(n))


@pytest.mark.parametrize(("mean", "sd"), [(0.0, 1.0), (1.0, 0.0), (1e-3, 1.0)])
def test_no_number_is_advised_for_a_difference_of_none_or_too_small_a_one(mean, sd):
    difference = Difference(mean, 0.0, 0.0, better=0, worse=0, pairs=10, sd=sd, tests=1)
    assert seeds_needed(difference, LOWER) is None
    assert MOST_SEEDS == 1000


def floor(runs, **request) -> list[str]:
    report = report_of(runs, TableRequest(explain=True, **request))
    return [text for text in report.verdicts if "smallest difference" in text]


def test_one_row_has_a_floor_too(sweep_of):
    values = [0.1, 0.2, 0.15, 0.12, 0.18, 0.11]
    sd = np.std(values, ddof=1) * np.sqrt(2)
    (text,) = floor(sweep_of({"a": values}))
    assert f" is {sd:.4g}." in text
    numbers = [f"{sd * detectable(n, LOWER.level_at(n)):.4g}" for n in (6, 10, 20)]
    assert (
        f"6, 10 and 20 seeds show in 7 of 10 tables or more is {', '.join(numbers[:2])} and" in text
    )
    assert text.endswith(f"{numbers[2]}.")


def test_the_floor_of_several_rows_is_of_their_paired_differences(sweep_of):
    one = [0.1, 0.2, 0.15, 0.12, 0.18, 0.11]
    (text,) = floor(sweep_of({"a": one, "b": (np.array(one) + [1, 2] * 3).tolist()}))
    assert f" is {np.std([1, 2] * 3, ddof=1):.4g}." in text


def test_seeds_that_do_not_differ_have_no_floor(sweep_of):
    assert floor(sweep_of({"a": [0.5] * 6})) == []
    assert floor(sweep_of({"a": [0.5]})) == []
