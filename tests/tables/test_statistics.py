"""Intervals, tests and power against SciPy, statsmodels and cases worked by hand."""

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from attnexp.tables.statistics import (
    MOST_SEEDS,
    effect_size,
    holm,
    paired_p,
    seeds_to_tell,
    spread,
    welch_p,
)


def samples(count: int, *sizes: int) -> list[list[list[float]]]:
    rng = np.random.default_rng(0)
    return [[rng.normal(size=size).tolist() for size in sizes] for _ in range(count)]


def test_no_value_and_one_value_have_no_interval():
    assert spread([]) == spread(())
    assert (spread([]).n, spread([]).mean) == (0, None)
    one = spread([0.25])
    assert (one.n, one.mean, one.sd, one.low, one.high) == (1, 0.25, None, None, None)


def test_spread_of_one_two_three_by_hand():
    # mean 2, sd 1; t(0.975, 2) = 4.302653 and 4.302653 / sqrt(3) = 2.484138
    found = spread([1.0, 2.0, 3.0])
    assert (found.mean, found.sd) == (2.0, 1.0)
    assert found.low == pytest.approx(2 - 2.484138, abs=1e-6)
    assert found.high == pytest.approx(2 + 2.484138, abs=1e-6)


@pytest.mark.parametrize("values", [v for (v,) in samples(5, 4)])
def test_interval_is_that_of_scipy(values: list[float]):
    low, high = stats.t.interval(
        0.95, len(values) - 1, loc=np.mean(values), scale=stats.sem(values)
    )
    found = spread(values)
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))
    assert found.sd == pytest.approx(np.std(values, ddof=1))


@pytest.mark.parametrize(("one", "two"), samples(5, 6, 6))
def test_paired_test_is_that_of_scipy(one: list[float], two: list[float]):
    differences = [a - b for a, b in zip(one, two, strict=True)]
    assert paired_p(differences, 1.0) == pytest.approx(stats.ttest_rel(one, two).pvalue)


@pytest.mark.parametrize(("one", "two"), samples(5, 3, 7))
def test_test_of_strangers_is_that_of_scipy(one: list[float], two: list[float]):
    expected = stats.ttest_ind(one, two, equal_var=False).pvalue
    assert welch_p(one, two) == pytest.approx(expected)


def test_differences_that_do_not_vary_are_left_to_the_sign_test():
    # t would be infinite. With both signs equally likely, n alike happen with 2 / 2^n.
    assert paired_p([0.1, 0.1], 1.0) == 0.5
    assert paired_p([-0.1] * 5, 1.0) == 0.0625
    assert paired_p([0.0] * 5, 1.0) == 1.0


def test_differences_that_vary_by_rounding_do_not_vary():
    accuracies = np.float32([0.91, 0.93, 0.97]), np.float32([0.90, 0.92, 0.96])
    differences = [float(a) - float(b) for a, b in zip(*accuracies, strict=True)]
    assert np.std(differences) > 0
    assert effect_size(differences, 1.0) == math.inf
    assert paired_p(differences, 1.0) == 0.25


def test_strangers_that_do_not_vary_say_nothing():
    assert welch_p([0.5, 0.5], [0.6, 0.6]) == 1.0


@pytest.mark.parametrize("values", [v for (v,) in samples(5, 7)])
def test_holm_is_that_of_statsmodels(values: list[float]):
    p = (np.abs(values) / 20).tolist()
    expected = multipletests(p, method="holm")[1]
    assert holm(p, len(p)) == pytest.approx(expected)


def test_holm_by_hand():
    # Smallest times 6, then times 5 and 4 but never below the one before, never above 1.
    assert holm([0.02, 0.01, 0.5], 6).tolist() == pytest.approx([0.1, 0.06, 1.0])


@pytest.mark.parametrize(("effect", "level"), [(0.5, 0.05), (1.0, 0.01), (2.0, 0.05 / 6)])
def test_seeds_to_tell_against_simulated_power(effect: float, level: float):
    n = seeds_to_tell(effect, level)
    assert n is not None
    rng = np.random.default_rng(0)
    for size, enough in ((n, True), (n - 2, False)):
        p = stats.ttest_1samp(rng.normal(effect, 1, size=(20_000, size)), 0, axis=1).pvalue
        found = float((p <= level).mean())
        assert (found > 0.79) if enough else (found < 0.80)


def test_seeds_to_tell_of_textbook_size():
    # Cohen's medium effect, 5%, power 80%: 34 pairs.
    assert seeds_to_tell(0.5, 0.05) == 34


def test_no_number_of_seeds_tells_equals_apart():
    assert seeds_to_tell(0.0, 0.05) is None
    assert seeds_to_tell(0.01, 0.05) is None
    assert seeds_to_tell(0.1, 0.05) == pytest.approx(787, abs=1)
    assert MOST_SEEDS > 787


def test_differences_that_do_not_vary_take_as_many_seeds_as_the_sign_test():
    # 2^(1 - n) <= 0.05 from n = 6 on: 1/32.
    assert seeds_to_tell(math.inf, 0.05) == 6
    assert 2.0 ** (1 - 6) <= 0.05 < 2.0 ** (1 - 5)


def test_huge_effects_take_few_seeds():
    assert seeds_to_tell(1e6, 0.05) == 2
