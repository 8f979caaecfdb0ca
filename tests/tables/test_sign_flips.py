"""The sign-flip test against all sign vectors written out, and its interval against its p-value."""

import itertools

import numpy as np
import pytest

from attnexp.tables import sign_flips
from attnexp.tables.sign_flips import flipped_p, interval, sign_vectors, step_down_p


def by_hand(differences):
    """The share of all 2^n sign vectors whose sum is as far from 0."""
    seen = abs(sum(differences)) * (1 - 1e-9)
    every = list(itertools.product((1, -1), repeat=len(differences)))
    return np.mean([abs(np.dot(signs, differences)) >= seen for signs in every])


@pytest.mark.parametrize("n", [2, 5, 6, 9])
def test_the_p_value_is_that_of_all_sign_vectors(n):
    for differences in np.random.default_rng(n).normal(0.5, 1, (20, n)).tolist():
        assert flipped_p(differences) == pytest.approx(by_hand(differences))


def test_six_seeds_decide_and_five_do_not():
    assert flipped_p([1.0] * 5) == 2 / 2**5
    assert flipped_p([1.0] * 6) == 2 / 2**6
    assert flipped_p([0.0] * 6) == 1.0


def test_a_seed_without_a_difference_changes_nothing():
    assert flipped_p([1.0, 0.5, 2.0, 0.0]) == flipped_p([1.0, 0.5, 2.0])


def test_pairs_are_flipped_together_and_stepped_down():
    """By the definition: the largest z of the pairs that are not ahead of it, under all signs."""
    differences = np.random.default_rng(0).normal([0.3, 1.5, 0.0], 1.0, (7, 3))
    z = np.abs(differences.sum(axis=0)) / np.linalg.norm(differences, axis=0)
    every = np.array(list(itertools.product((1, -1), repeat=7)))
    flipped = np.abs(every @ differences) / np.linalg.norm(differences, axis=0)
    expected, last = np.empty(3), 0.0
    for place, pair in enumerate(np.argsort(-z)):
        rest = np.argsort(-z)[place:]
        last = max(last, np.mean(flipped[:, rest].max(axis=1) >= z[pair] - 1e-9))
        expected[pair] = last
    assert step_down_p(differences) == pytest.approx(expected)


def test_drawn_signs_are_near_all_of_them(monkeypatch):
    differences = np.random.default_rng(1).normal(0.5, 1, 12).tolist()
    exact = flipped_p(differences)
    monkeypatch.setattr(sign_flips, "EXHAUSTIVE", 5)
    sign_vectors.cache_clear()
    assert flipped_p(differences) == pytest.approx(exact, abs=0.005)
    sign_vectors.cache_clear()


def test_the_interval_holds_what_the_test_does_not_reject():
    """Also where differences tie, as those of shares do."""
    rng = np.random.default_rng(2)
    for n in range(2, 12):
        for _ in range(40):
            differences = np.round(rng.normal(rng.normal(), 1, n), 1)
            low, high = interval(differences.tolist(), 0.05)
            assert (flipped_p(differences.tolist()) > 0.05) == (low <= 0 <= high)
            for end, outside in ((low, -0.01), (high, 0.01)):
                if np.isfinite(end):
                    assert flipped_p((differences - end).tolist()) > 0.05
                    assert flipped_p((differences - end - outside).tolist()) <= 0.05


def test_six_differences_have_the_interval_from_the_smallest_to_the_largest():
    assert interval([3.0, 1.0, 2.0, 6.0, 5.0, 4.0], 0.05) == (1.0, 6.0)
    assert interval([3.0, 1.0, 2.0], 0.05) == (-np.inf, np.inf)
