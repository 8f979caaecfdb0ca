import math

import numpy as np
import pytest
from scipy.stats import friedmanchisquare, rankdata

from attnexp.stats.paired import net_shares
from attnexp.stats.ranks import chances, mean_ranks

DEMSAR = {
    "adult": (0.763, 0.768, 0.771, 0.798),
    "breast cancer": (0.599, 0.591, 0.590, 0.569),
    "breast cancer wisconsin": (0.954, 0.971, 0.968, 0.967),
    "cmc": (0.628, 0.661, 0.654, 0.657),
    "ionosphere": (0.882, 0.888, 0.886, 0.898),
    "iris": (0.936, 0.931, 0.916, 0.931),
    "liver disorders": (0.661, 0.668, 0.609, 0.685),
    "lung cancer": (0.583, 0.583, 0.563, 0.625),
    "lymphography": (0.775, 0.838, 0.866, 0.875),
    "mushroom": (1.000, 1.000, 1.000, 1.000),
    "primary tumor": (0.940, 0.962, 0.965, 0.962),
    "rheum": (0.619, 0.666, 0.614, 0.669),
    "voting": (0.972, 0.981, 0.9751, 0.975),
    "wine": (0.957, 0.978, 0.946, 0.970),
}
"""AUC of C4.5, with m, with cf, and with both, from Demsar (2006), table 6.

There the third of voting, printed as 0.975, is ranked before the fourth.
"""


def rows_of(tasks):
    """Return rows from errors of shape (tasks, rows, seeds)."""
    return [
        {task: dict(enumerate(own[row].tolist())) for task, own in enumerate(tasks)}
        for row in range(tasks.shape[1])
    ]


def test_mean_ranks_of_one_value_per_task_are_those_of_demsar():
    ranks = mean_ranks(rows_of(-np.array([*DEMSAR.values()])[:, :, None]), 0.0)
    assert ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    n, k = len(DEMSAR), 4
    friedman = 12 * n / (k * (k + 1)) * (sum(r**2 for r in ranks if r) - k * (k + 1) ** 2 / 4)
    assert friedman == pytest.approx(9.28, abs=5e-3)


def test_friedmans_statistic_of_the_ranks_is_scipys():
    values = np.random.default_rng(0).normal(size=(12, 5, 1))
    ranks = mean_ranks(rows_of(values), 0.0)
    statistic = 12 * 12 / (5 * 6) * (sum(r**2 for r in ranks if r) - 5 * 36 / 4)
    assert statistic == pytest.approx(friedmanchisquare(*values[:, :, 0].T).statistic)


def test_mean_ranks_are_the_mean_over_tasks_and_seeds_of_ranks():
    values = np.random.default_rng(1).integers(0, 4, (7, 4, 5)).astype(float)
    expected = rankdata(values, axis=1).mean(axis=(0, 2))
    assert mean_ranks(rows_of(values), 0.0) == pytest.approx(expected.tolist())


def test_a_chance_counts_seeds_within_the_margin_half():
    rows = [{0: {1: 0.1, 2: 0.5, 3: 0.90}}, {0: {1: 0.2, 2: 0.4, 3: 0.85}}]
    assert chances(rows, 0.0)[0, 1] == pytest.approx(1 / 3)
    assert chances(rows, 0.05)[0, 1] == pytest.approx((1 + 0 + 1 / 2) / 3)  # 0.05 is not beyond it
    assert chances(rows, 0.2)[0, 1] == 0.5
    assert math.isnan(chances(rows, 0.0)[0, 0])


def test_tasks_count_alike_whatever_their_seeds():
    one = {0: {1: 0.0}, 1: dict.fromkeys(range(9), 1.0)}
    other = {0: {1: 1.0}, 1: dict.fromkeys(range(9), 0.0)}
    assert chances([one, other], 0.0)[0, 1] == 0.5


def test_rows_that_share_nothing_have_no_rank():
    rows = [{0: {1: 0.0}}, {0: {1: 1.0}}, {1: {1: 0.5}}, {}]
    assert mean_ranks(rows, 0.0) == [1.0, 4.0, None, None]
    assert mean_ranks([], 0.0) == []


def test_net_shares_are_what_is_in_favour_less_what_is_against():
    rows = [{0: {1: 3.0, 2: 0.0, 3: 1.0}, 4: {1: 2.0}}, {0: {1: 0.0, 2: 1.0, 3: 1.0}, 4: {1: 2.0}}]
    tasks, shares = net_shares(rows, 0.0)
    assert tasks == [0, 4]
    assert shares[:, 0].tolist() == [(3 - 1) / (3 + 1), 0.0]
    assert net_shares(rows, 1.0)[1][0, 0] == 3 / 4  # 1 is not beyond the margin, and counts below
    swapped = net_shares(rows[::-1], 0.0)[1]
    np.testing.assert_array_equal(swapped, -shares)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_net_shares_have_no_scale(scale):
    values = np.random.default_rng(2).normal(size=(4, 3, 6))
    _, shares = net_shares(rows_of(values * scale), 0.0)
    own = [values[:, i] - values[:, j] for i, j in ((0, 1), (0, 2), (1, 2))]
    expected = np.array([each.sum(axis=1) / abs(each).sum(axis=1) for each in own]).T
    np.testing.assert_allclose(shares, expected)
