"""Intervals against SciPy and cases worked by hand."""

import math

import numpy as np
import pytest
from scipy import stats

from attnexp.stats.intervals import (
    LEAST_SIZE,
    Spread,
    _beta_binomial,
    student_quantile,
    student_tail,
)


def test_no_value_and_one_value_have_no_interval():
    for unit in ("", "share", "y^2"):
        none, one = Spread([], unit), Spread([0.25], unit)
        assert (none.n, none.mean, none.sd, none.interval) == (0, None, None, (None, None))
        assert (one.n, one.mean, one.sd, one.interval) == (1, 0.25, None, (None, None))


@pytest.mark.parametrize("seed", range(3))
def test_interval_without_bounds_is_that_of_scipy(seed):
    values = np.random.default_rng(seed).normal(size=4).tolist()
    expected = stats.t.interval(0.95, 3, loc=np.mean(values), scale=stats.sem(values))
    assert Spread(values).interval == pytest.approx(expected)
    assert Spread(values).sd == pytest.approx(np.std(values, ddof=1))


def test_students_distribution_is_that_of_scipy():
    for df in (1, 2, 3, 9, 40, 999):
        for coverage in (0.95, 0.5, 0.999):
            expected = stats.t.ppf((1 + coverage) / 2, df)
            assert student_quantile(df, coverage) == pytest.approx(expected, rel=1e-9)
        for t in (0.0, 0.3, 2.5, 40.0):
            assert student_tail(t, df) == pytest.approx(2 * stats.t.sf(t, df), abs=1e-13)


def test_students_distribution_has_a_closed_form_at_one_and_two_degrees_of_freedom():
    for t in (0.1, 1.0, 12.7, 300.0):
        assert student_tail(t, 1) == pytest.approx(1 - 2 / math.pi * math.atan(t), abs=1e-14)
        assert student_tail(t, 2) == pytest.approx(1 - t / math.sqrt(2 + t * t), abs=1e-14)
    assert student_quantile(1) == pytest.approx(math.tan(0.475 * math.pi))
    assert student_quantile(5) == pytest.approx(2.570581836, rel=1e-9)  # a printed table


def test_an_interval_of_positive_numbers_is_coxs_around_the_mean():
    values = [0.2, 1.5, 0.7, 0.4]
    v = np.var(np.log(values), ddof=1)
    reach = stats.t.ppf(0.975, 3) * math.sqrt(v / 4 + v**2 / 6)
    low, high = Spread(values, "y^2").interval
    assert (low, high) == pytest.approx((0.7 * math.exp(-reach), 0.7 * math.exp(reach)))


def test_positive_numbers_that_hardly_vary_have_students_interval():
    values = [1.0, 1.001, 0.999, 1.0005]
    assert Spread(values, "nats").interval == pytest.approx(Spread(values).interval, abs=1e-5)


@pytest.mark.parametrize(
    ("values", "unit", "least", "most"),
    [([99.0, 100.0, 97.0], "of 100", 0, 100), ([0.0, 0.3, 0.1], "keys", 0, math.inf)],
)
def test_an_interval_stays_within_the_range_of_its_unit(values, unit, least, most):
    low, high = Spread(values, unit).interval
    assert least <= low < np.mean(values) < high <= most


def test_one_seed_below_1_does_not_say_that_a_quarter_may_fail():
    low, high = Spread([1.0] * 9 + [0.998], "share", 500).interval
    assert 0.96 < low < 0.99
    assert 0.9999 < high <= 1


def test_an_interval_of_shares_lies_in_0_and_1_and_holds_their_mean():
    rng = np.random.default_rng(0)
    for n in (2, 3, 10):
        for values in rng.beta(3, 1, size=(30, n)).tolist():
            found = Spread(values, "share", 50)
            assert 0 <= found.low <= found.mean <= found.high <= 1
            assert found.low < found.high


def test_an_interval_of_shares_is_no_narrower_than_students_nor_than_the_examples_allow():
    values = [0.62, 0.64, 0.63, 0.61, 0.65]
    assert Spread(values, "share", 100_000).interval == pytest.approx(
        Spread(values).interval, abs=0.002
    )
    # Five times 100 examples: 1.96 sqrt(0.63 0.37 / 500) = 0.042.
    few = Spread((0.63,) * 5, "share", 100)
    assert few.high - few.low > 2 * 0.042


@pytest.mark.parametrize("counts", [[30, 33, 12], [20, 20, 21], [40, 40, 39]])
def test_the_interval_of_shares_against_the_posterior_by_sampling(counts: list[int]):
    """Importance sampling from the same model with its binomial written out."""
    rng = np.random.default_rng(0)
    mu = rng.uniform(size=200_000)
    size = np.exp(rng.uniform(np.log(LEAST_SIZE), np.log(400), size=mu.size))
    weight = np.prod(
        [stats.betabinom.pmf(k, 40, mu * size, (1 - mu) * size) for k in counts], axis=0
    )
    order = np.argsort(mu)
    below = np.cumsum(weight[order]) / weight.sum()
    expected = np.interp([0.025, 0.975], below, mu[order])
    assert _beta_binomial(tuple(k / 40 for k in counts), 40) == pytest.approx(expected, abs=0.02)


def test_splits_of_a_file_have_a_wider_interval():
    values = [0.2, 1.5, 0.7, 0.4]
    low, high = Spread(values, overlap=0.25).interval
    plain = Spread(values).interval
    assert (high - low) / (plain[1] - plain[0]) == pytest.approx(math.sqrt(4 * (0.25 + 0.25)))
