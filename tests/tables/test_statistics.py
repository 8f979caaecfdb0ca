"""Intervals, tests and power against SciPy, statsmodels and cases worked by hand."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from attnexp.tables.statistics import (
    STAKES,
    WIDENING,
    Spread,
    _beta_binomial,
    betting_p,
    effect_size,
    holm,
    student_p,
    student_quantile,
    student_tail,
    two_groups,
)


def samples(count: int, *sizes: int) -> list[list[list[float]]]:
    rng = np.random.default_rng(0)
    return [[rng.normal(size=size).tolist() for size in sizes] for _ in range(count)]


def test_no_value_and_one_value_have_no_interval():
    for examples in (None, 100):
        none, one = Spread([], examples), Spread([0.25], examples)
        assert (none.n, none.mean, none.sd, none.interval) == (0, None, None, (None, None))
        assert (one.n, one.mean, one.sd, one.interval) == (1, 0.25, None, (None, None))


@pytest.mark.parametrize("values", [v for (v,) in samples(5, 4)])
def test_interval_is_that_of_scipy(values: list[float]):
    low, high = stats.t.interval(
        0.95, len(values) - 1, loc=np.mean(values), scale=stats.sem(values)
    )
    found = Spread(values)
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
    assert found.sd == pytest.approx(np.std(values, ddof=1))


def test_students_distribution_is_that_of_scipy():
    for df in (1, 2, 3, 9, 40, 999):
        assert student_quantile(df) == pytest.approx(stats.t.ppf(0.975, df), rel=1e-10)
        for t in (0.0, 0.3, 2.5, 40.0):
            assert student_tail(t, df) == pytest.approx(2 * stats.t.sf(t, df), abs=1e-13)


@pytest.mark.parametrize(
    ("values", "reach"),
    [([1.0] * 3, (0.44, 0.5)), ([1.0] * 5, (0.57, 0.63)), ([0.998, 1.0, 0.996], (0.45, 0.55))],
)
def test_perfect_shares_may_yet_fail(values: list[float], reach: tuple[float, float]):
    """Their interval is not empty, ends at 1 and knows that another seed may fail."""
    found = Spread(values, 500)
    assert found.low is not None
    assert reach[0] < found.low < reach[1]
    assert found.high == 1.0


def test_shares_that_are_all_wrong_mirror_those_that_are_all_right():
    right, wrong = Spread((1.0,) * 4, 200), Spread((0.0,) * 4, 200)
    assert (wrong.low, wrong.high) == (0.0, pytest.approx(1 - right.low))


def test_an_interval_of_shares_lies_in_0_and_1_and_holds_their_mean():
    rng = np.random.default_rng(0)
    for n in (2, 3, 10):
        for values in rng.beta(0.3, 0.1, size=(30, n)).tolist():
            found = Spread(values, 50)
            assert 0 <= found.low < found.high <= 1
            assert found.low <= found.mean <= found.high


def test_an_interval_of_shares_is_no_narrower_than_students_nor_than_the_examples_allow():
    values = [0.62, 0.64, 0.63, 0.61, 0.65]
    plain, own = Spread(values), Spread(values, 100_000)
    assert (own.low, own.high) == (
        pytest.approx(plain.low, abs=0.002),
        pytest.approx(plain.high, abs=0.002),
    )
    # Five times 100 examples: 1.96 sqrt(0.63 0.37 / 500) = 0.042.
    few = Spread((0.63,) * 5, 100)
    assert few.high - few.low > 2 * 0.042


@pytest.mark.parametrize("counts", [[30, 33, 12], [20, 20, 21], [40, 40, 39], [1, 0, 2]])
def test_the_interval_of_shares_against_the_posterior_by_sampling(counts: list[int]):
    """Importance sampling from the same model with its binomial written out."""
    rng = np.random.default_rng(0)
    mu = rng.uniform(size=400_000)
    size = np.exp(rng.uniform(np.log(0.01), np.log(400), size=mu.size))
    weight = np.prod(
        [stats.betabinom.pmf(k, 40, mu * size, (1 - mu) * size) for k in counts], axis=0
    )
    order = np.argsort(mu)
    below = np.cumsum(weight[order]) / weight.sum()
    expected = np.interp([0.025, 0.975], below, mu[order])
    assert _beta_binomial(tuple(k / 40 for k in counts), 40) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize(("one", "two"), samples(5, 6, 6))
def test_widened_t_test_is_that_of_scipy_with_a_smaller_statistic(
    one: list[float], two: list[float]
):
    differences = [a - b for a, b in zip(one, two, strict=True)]
    plain = stats.ttest_rel(one, two)
    expected = 2 * stats.t.sf(abs(plain.statistic) / WIDENING, 5)
    assert student_p(differences, 1.0) == pytest.approx(max(expected, 1 / 32))


def test_no_test_of_few_seeds_goes_below_the_sign_test():
    # With both signs equally likely, n alike happen with 2 / 2^n.
    assert student_p([0.1, 0.1], 1.0) == 0.5
    assert student_p([5.0, 5.001, 4.999], 5.0) == 0.25
    assert student_p([-0.1] * 5, 1.0) == 0.0625
    assert student_p([0.0] * 5, 1.0) == 1.0


def test_the_betting_test_by_hand():
    differences = [0.5, -0.25, 1.0]
    won = np.mean([(1 + 0.5 * b) * (1 - 0.25 * b) * (1 + b) for b in STAKES])
    lost = np.mean([(1 - 0.5 * b) * (1 + 0.25 * b) * (1 - b) for b in STAKES])
    assert betting_p(differences, 1.0) == pytest.approx(min(1, 2 / (won + lost)))
    assert betting_p([1.0] * 12, 1.0) == pytest.approx(
        2 / np.mean((1 + STAKES) ** 12 + (1 - STAKES) ** 12)
    )


def test_the_capital_of_a_fair_bet_is_1_on_average():
    """All 3^4 outcomes of four differences of -1/2, 0 and 1 whose mean is zero."""
    chances = {-0.5: 0.5, 0.0: 0.25, 1.0: 0.25}
    capital = 0.0
    for several in itertools.product(chances, repeat=4):
        chance = math.prod(chances[one] for one in several)
        capital += chance * sum(
            np.prod(1 + np.outer(side * STAKES, several), axis=1).mean() / 2 for side in (1, -1)
        )
    assert capital == pytest.approx(1)


def test_the_betting_test_holds_at_every_look():
    """A late jump beside its mean, looked at after every seed up to forty."""
    rng = np.random.default_rng(0)
    jumps = np.where(rng.random((500, 40)) < 0.8, 0.12, -0.48)
    claimed = sum(
        any(betting_p(own[:n], 1.0) <= 0.05 for n in range(2, 41, 2)) for own in jumps.tolist()
    )
    assert claimed <= 25


def test_differences_that_vary_by_rounding_do_not_vary():
    accuracies = np.float32([0.91, 0.93, 0.97]), np.float32([0.90, 0.92, 0.96])
    differences = [float(a) - float(b) for a, b in zip(*accuracies, strict=True)]
    assert np.std(differences) > 0
    assert effect_size(differences, 1.0) == math.inf
    assert student_p(differences, 1.0) == 0.25


@pytest.mark.parametrize("values", [v for (v,) in samples(5, 7)])
def test_holm_is_that_of_statsmodels(values: list[float]):
    p = (np.abs(values) / 20).tolist()
    expected = multipletests(p, method="holm")[1]
    assert holm(p, len(p)) == pytest.approx(expected)


def test_two_groups_of_seeds_are_seen():
    assert two_groups([1.0, 0.41, 1.0, 0.39, 0.99]) == ([0.39, 0.41], [0.99, 1.0, 1.0])
    assert two_groups([0.4, 1.0, 1.0]) == ([0.4], [1.0, 1.0])


@pytest.mark.parametrize(
    "shares", [[], [0.4, 1.0], [1.0] * 5, [0.2, 0.5, 0.9], [0.9, 0.99, 1.0], [0.1, 0.3, 0.6, 0.9]]
)
def test_one_group_of_seeds_is_no_finding(shares: list[float]):
    assert two_groups(shares) is None


def test_a_single_bell_seldom_looks_like_two_groups():
    rng = np.random.default_rng(0)
    seen = [two_groups(own) is not None for own in rng.normal(0.7, 0.1, (1000, 5)).tolist()]
    assert np.mean(seen) < 0.02
