"""The looks of a table, against their definition written out, and the verdicts over many tables."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from attnexp.stats import sequential
from attnexp.stats.compare import Rule, compare
from attnexp.stats.sequential import MOST_ANALYSES, level_at, pair_tests, places_of


def level(n: int) -> Fraction:
    """1/32 + (0.05 - 1/32)(1 - 6/n), in fractions."""
    first = Fraction(1, 32)
    return Fraction(0) if n < 6 else first + (Fraction(1, 20) - first) * (1 - Fraction(6, n))


def by_definition(differences: list[list[int]], ends: list[int]) -> dict[int, int]:
    """The pairs that are told apart, each with its look: whole numbers, all sign vectors."""
    pairs = list(zip(*differences, strict=True))
    vectors = list(itertools.product((1, -1), repeat=len(differences)))
    vectors = vectors[: len(vectors) // 2]  # of each two opposite ones the first

    def squared(pair, signs, end):
        own = pairs[pair][:end]
        total = sum(d * s for d, s in zip(own, signs, strict=False)) ** 2
        return Fraction(total, sum(d * d for d in own) or 1)

    left, told = set(range(len(pairs))), {}
    while left:
        out = set()
        for look, end in enumerate(ends):
            inside = [i for i in range(len(vectors)) if i not in out]
            largest = {i: max(squared(pair, vectors[i], end) for pair in left) for i in inside}
            may_leave = math.floor(level(end) * len(vectors)) - len(out)
            if may_leave <= 0:
                continue
            bound = sorted(largest.values(), reverse=True)[may_leave]
            if largest.get(0, 0) > bound:
                now = {pair for pair in left if squared(pair, vectors[0], end) > bound}
                told |= dict.fromkeys(now, look)
                left -= now
                break
            out |= {i for i in inside if largest[i] > bound}
        else:
            return told
    return told


def came_in(ends: list[int]) -> dict[int, tuple[tuple[str, str], ...]]:
    """Seeds that came in portions: the first up to the first end, and so on."""
    looks = [next(look for look, end in enumerate(ends) if seed < end) for seed in range(ends[-1])]
    return {seed: ((f"{look:03}", f"command {look}"),) for seed, look in enumerate(looks)}


@pytest.mark.parametrize("seed", range(12))
def test_the_pairs_that_are_told_apart_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    ends = [6, *sorted(set(rng.integers(7, 11, 2).tolist()))]
    rows = rng.integers(-3, 4, (ends[-1], 3)) + rng.choice([0, 2, 4], 3)
    ways = list(itertools.combinations(range(3), 2))
    differences = np.array([rows[:, i] - rows[:, j] for i, j in ways], float).T
    tests = pair_tests(range(ends[-1]), differences, ways, [came_in(ends)] * 3)
    expected = by_definition(differences.astype(int).tolist(), ends)
    sums = [[differences[:end, pair].sum() for end in ends] for pair in range(3)]
    kept = {pair for pair, look in expected.items() if sums[pair][look] * sums[pair][-1] >= 0}
    assert set(np.flatnonzero(tests.apart).tolist()) == kept


def test_the_level_is_that_of_six_seeds_and_grows_to_five_in_a_hundred():
    assert [level_at(n) for n in (0, 5)] == [0.0, 0.0]
    for n in (6, 7, 10, 20, 40, 1000):
        assert level_at(n) == pytest.approx(float(level(n)))
    assert [round(level_at(n), 3) for n in (10, 20, 40)] == [0.039, 0.044, 0.047]


def looks_at(*rows, seeds=range(4)):
    return [(place.analysis, place.seed, place.turn) for place in places_of(list(seeds), rows)]


def test_seeds_of_one_command_are_one_look_at_the_second_row():
    first = dict.fromkeys(range(4), (("1", "a"),))
    assert looks_at(first, dict.fromkeys(range(4), (("2", "b"),))) == [
        (0, seed, 0) for seed in range(4)
    ]
    more = {0: (("2", "b"),), 1: (("4", "c"),), 2: (("3", "b"),), 3: (("5", ""),)}
    assert looks_at(first, more) == [(0, 0, 0), (0, 2, 0), (1, 1, 0), (2, 3, 0)]
    # a third row takes no seed to a later look, and rows without a command are one
    assert looks_at(first, more, dict.fromkeys(range(4), (("9", "d"),))) == looks_at(first, more)
    assert looks_at() == [(0, seed, 0) for seed in range(4)]


def test_the_last_looks_of_many_are_one():
    rows = [{seed: ((f"{seed:03}", f"{seed}"),) for seed in range(60)}] * 2
    found = looks_at(*rows, seeds=range(60))
    assert [look for look, _, _ in found] == [*range(MOST_ANALYSES), *[MOST_ANALYSES - 1] * 20]


def test_a_run_of_other_code_comes_after_the_one_it_replaces():
    first = dict.fromkeys(range(2), (("1", "a"),))
    again = {0: (("1", "a"), ("3", "c")), 1: (("1", "a"),)}
    assert looks_at(first, again, seeds=range(2)) == [(0, 0, 0), (0, 1, 0), (1, 0, 1)]


@pytest.mark.parametrize(
    ("rows", "ends", "draw"),
    [
        (2, [6, 8, 12, 20, 40], np.random.Generator.normal),
        (4, [*range(6, 41)], np.random.Generator.normal),
        (4, [6, 12, 40], np.random.Generator.lognormal),
        (2, [*range(6, 25)], lambda rng, size: rng.binomial(20, 0.9, size) / 20),
    ],
)
def test_equal_rows_are_told_apart_in_one_table_of_twenty(rows, ends, draw, monkeypatch):
    monkeypatch.setattr(sequential, "STATISTICS", 2**16)
    ways, came = list(itertools.combinations(range(rows), 2)), [came_in(ends)] * rows

    def is_told(trial):
        values = draw(np.random.default_rng(trial), size=(ends[-1], rows))
        differences = np.array([values[:, i] - values[:, j] for i, j in ways]).T
        return pair_tests(range(ends[-1]), differences, ways, came).apart.any()

    assert np.mean([is_told(trial) for trial in range(400)]) <= 0.05 + 0.022


def test_runs_made_anew_until_they_are_better_are_not_believed():
    """One row of six seeds is made anew four times, each time by other code."""

    def is_told(trial):
        rng, one = np.random.default_rng(trial), dict.fromkeys(range(6), (("0", "code 0"),))
        first, found = rng.normal(size=6), False
        for turn in range(1, 5):
            other = dict.fromkeys(range(6), tuple((str(i), f"code {i}") for i in range(turn)))
            differences = (rng.normal(size=6) - first)[:, None]
            tests = pair_tests(range(6), differences, [(0, 1)], [one, other])
            found = found or bool(tests.apart.any())
        return found

    assert np.mean([is_told(trial) for trial in range(400)]) <= 0.05 + 0.022


def test_no_verdict_of_six_seeds_is_lost_at_twenty():
    kept = 0
    for trial in range(30):
        rows = np.random.default_rng(trial).normal([[0.0], [1.2]], 0.5, (2, 20))
        rows[1, :6] = np.maximum(rows[1, :6], rows[0, :6] + 0.1)
        values = [dict(enumerate({0: float(v)} for v in own)) for own in rows]
        early = [{seed: own[seed] for seed in range(6)} for own in values]
        assert compare(early, Rule("lower"))[1].word == "worse"
        kept += compare(values, Rule("lower"), [came_in([6, 20])] * 2)[1].word == "worse"
    assert kept == 30


def test_a_row_that_has_turned_is_tied():
    ahead = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, *[-9.0] * 4]
    rows = [dict(enumerate({0: v} for v in own)) for own in (ahead, [0.0] * 10)]
    found = compare(rows, Rule("lower"), [came_in([6, 10])] * 2)
    assert [one.word for one in found] == ["best", "tied"]
    assert found[1].difference.low <= 0 <= found[1].difference.high


def test_a_verdict_of_an_earlier_look_has_an_interval_that_agrees():
    ahead = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, -1.0, -1.0, 1.0, 1.0]
    rows = [dict(enumerate({0: v} for v in own)) for own in (ahead, [0.0] * 10)]
    found = compare(rows, Rule("lower"), [came_in([6, 10])] * 2)
    assert found[0].word == "worse"
    assert (found[0].p, found[0].difference.low) == (1 / 32, 0.0)
