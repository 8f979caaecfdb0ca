"""Statistics of huge and tiny numbers, against exact fractions; ordinary ones keep their bits."""

import math
from decimal import Decimal, getcontext
from fractions import Fraction
from statistics import fmean

import numpy as np
import pytest

from attnexp.stats import scaled
from attnexp.stats.compare import Rule, against, compare
from attnexp.stats.flips import flipped_p, interval, step_down_p
from attnexp.stats.intervals import Spread, moments
from attnexp.stats.paired import every_pair, paired
from attnexp.stats.power import seeds_needed

VALUES = [0.5, 1.25, 2.0, 0.75, 3.5, 1.0, 2.25]
POWERS = [-1060, -700, -520, 0, 520, 700, 1020]
"""At the first, several of VALUES are subnormal; at the last, their sum is beyond a float."""


def exact_moments(values):
    getcontext().prec = 60
    exact = [Fraction(value) for value in values]
    middle = sum(exact) / len(exact)
    variance = sum((value - middle) ** 2 for value in exact) / (len(exact) - 1)
    sd = (Decimal(variance.numerator) / Decimal(variance.denominator)).sqrt()
    return float(middle), float(sd)


@pytest.mark.parametrize("power", POWERS)
def test_moments_are_exact_at_every_magnitude(power):
    values = [math.ldexp(value, power) for value in VALUES]
    middle, sd = exact_moments(values)
    assert moments(values) == pytest.approx((middle, sd), rel=1e-12, abs=5e-324)
    assert Spread(values).mean == pytest.approx(middle, rel=1e-12, abs=5e-324)
    assert scaled.mean_row(np.array([values, values]).T) == pytest.approx([middle] * 2, rel=1e-12)


@pytest.mark.parametrize("power", POWERS[1:])
@pytest.mark.parametrize("overlap", [0.0, 0.25])
def test_a_comparison_does_not_depend_on_the_magnitude(power, overlap):
    """Times a power of two, everything is the same but the differences, which are as large."""
    rows = [VALUES, [v + 0.25 for v in VALUES], [5.0, *VALUES[1:]]]
    rule = Rule("lower", overlap=overlap)

    def standings(factor):
        given = [{s: {0: math.ldexp(v, factor)} for s, v in enumerate(row)} for row in rows]
        return [*compare(given, rule), *against(given[0], given[1:], rule)]

    for large, ordinary in zip(standings(power), standings(0), strict=True):
        assert (large.word, large.p) == (ordinary.word, pytest.approx(ordinary.p))
        if ordinary.difference is not None:
            for end in ("mean", "low", "high", "sd"):
                expected = Fraction(getattr(ordinary.difference, end)) * Fraction(2) ** power
                assert getattr(large.difference, end) == pytest.approx(float(expected), rel=1e-9)


def test_a_huge_row_does_not_spoil_others():
    small = [dict(enumerate({0: v} for v in VALUES)), {s: {0: v / 2} for s, v in enumerate(VALUES)}]
    huge = {s: {0: v * 1e300} for s, v in enumerate(VALUES)}
    both, alone = compare([*small, huge], Rule("lower")), compare(small, Rule("lower"))
    assert both[0].difference.mean == alone[0].difference.mean
    assert [standing.word for standing in both] == ["worse", "best", "worse"]


def test_numbers_of_all_magnitudes_together():
    mixed = [1e200, 1e-320, 0.5, 1.797e308, 5e-324, -1.797e308, 3e154]
    rows = [{s: {0: v} for s, v in enumerate(row)} for row in (mixed, mixed[::-1], VALUES)]
    for better in ("lower", "higher"):
        assert all(one.word for one in compare(rows, Rule(better)))
    positive = Spread([1e-320, 1e300, 1.0, 2.0], "nats")
    assert positive.interval == (0.0, math.inf)
    difference = compare(rows, Rule("lower"))[2].difference
    assert difference is None or seeds_needed(difference, Rule("lower")) is None


def test_a_difference_beyond_the_largest_float_counts_as_it():
    huge = {s: {0: 1.7e308} for s in range(6)}, {s: {0: -1.7e308} for s in range(6)}
    assert set(paired(*huge).values()) == {scaled.MOST}
    assert (every_pair(huge)[1] == scaled.MOST).all()
    assert [one.word for one in compare(huge, Rule("lower"))] == ["worse", "best"]


@pytest.mark.parametrize("seed", range(40))
def test_ordinary_numbers_keep_their_bits(seed):
    """The formulas without any scaling, on drawn numbers of ordinary size."""
    draw = np.random.default_rng(seed)
    rows = draw.normal(size=(int(draw.integers(2, 9)), 3)) * 10.0 ** draw.integers(-9, 9)
    first = rows[:, 0].tolist()
    middle = math.fsum(first) / len(first)
    squares = math.fsum((value - middle) ** 2 for value in first)
    assert moments(first) == (middle, math.sqrt(squares / (len(first) - 1)))
    assert scaled.mean(first) == fmean(first) == Spread(first).mean
    assert scaled.mean_row(rows).tolist() == rows.mean(axis=0).tolist()
    by_seed = [{s: {0: v} for s, v in enumerate(rows[:, i].tolist())} for i in range(3)]
    pairs = np.stack([rows[:, a] - rows[:, b] for a, b in ((0, 1), (0, 2), (1, 2))], axis=1)
    assert every_pair(by_seed)[1].tolist() == pairs.tolist()
    assert list(paired(by_seed[0], by_seed[1]).values()) == pairs[:, 0].tolist()
    assert scaled.scaled(first) == (first, 1.0)
    assert (scaled.factors(abs(pairs).max(axis=0)) == 1).all()


@pytest.mark.parametrize("power", [-1000, 1000])
def test_flips_of_huge_and_tiny_numbers(power):
    values = [math.ldexp(value - 1.1, power) for value in VALUES]
    ordinary = [value - 1.1 for value in VALUES]
    assert flipped_p(values) == flipped_p(ordinary)
    assert step_down_p(np.array([values]).T) == step_down_p(np.array([ordinary]).T)
    ends = [math.ldexp(end, power) for end in interval(ordinary, 0.1)]
    assert interval(values, 0.1) == pytest.approx(ends)
