"""Exact tests and intervals of shares against SciPy and cases worked by hand."""

import math

import pytest
from scipy import stats

from attnexp.stats.exact import (
    fisher,
    fisher_larger,
    largest_difference,
    most_failing,
    share_interval,
)


def test_fishers_test_is_that_of_scipy():
    for a, b in ((10, 4), (3, 9), (0, 7), (6, 6)):
        table = [[a, 10 - a], [b, 10 - b]]
        assert fisher(a, 10, b, 10) == pytest.approx(stats.fisher_exact(table).pvalue)
        one_sided = stats.fisher_exact(table, alternative="greater").pvalue
        assert fisher_larger(a, 10, b, 10) == pytest.approx(one_sided)


@pytest.mark.parametrize(
    ("table", "p"),
    [
        # Fisher's lady: of four cups with milk first she finds four, or three
        ((4, 4, 0, 4), 1 / 70),
        ((3, 4, 1, 4), 17 / 70),
        ((6, 6, 0, 6), 1 / 924),
        ((0, 5, 0, 5), 1.0),
        ((0, 4, 4, 4), 1.0),
        # three of eight have escaped: C(3,2) C(5,1) + C(3,3) C(5,0) of C(8,3)
        ((2, 3, 1, 5), (3 * 5 + 1) / 56),
    ],
)
def test_fisher_by_hand(table, p):
    assert fisher_larger(*table) == pytest.approx(p)


def test_ten_seeds_without_a_failure_leave_26_percent():
    assert most_failing(10) == pytest.approx(0.259, abs=0.001)


def test_an_end_of_the_interval_of_a_share_is_where_a_tail_has_half_of_the_rest():
    low, high = share_interval(7, 9)
    tail = sum(math.comb(9, k) * low**k * (1 - low) ** (9 - k) for k in range(7, 10))
    assert tail == pytest.approx(0.025)
    tail = sum(math.comb(9, k) * high**k * (1 - high) ** (9 - k) for k in range(8))
    assert tail == pytest.approx(0.025)
    assert share_interval(0, 6)[0] == 0
    assert share_interval(6, 6)[1] == 1


def test_the_largest_difference_of_two_shares_by_hand():
    # 9 of 10 and 4 of 10 count as 10 of 12 and 5 of 12.
    reach = 1.959964 * math.sqrt(10 / 12 * 2 / 12 / 12 + 5 / 12 * 7 / 12 / 12)
    assert largest_difference(9, 10, 4, 10, 0.05) == pytest.approx(5 / 12 + reach, rel=1e-6)
