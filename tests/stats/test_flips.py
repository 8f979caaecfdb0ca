"""The sign-flip test against all sign vectors written out, and its interval against its p-value."""

import itertools
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

from attnexp.stats import flips
from attnexp.stats.flips import flipped_p, interval, sign_vectors, step_down_p


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


def exactly(differences):
    """The adjusted p-values of whole numbers, one line per pair, in fractions: ties are ties."""
    every = list(itertools.product((1, -1), repeat=len(differences[0])))
    squares = [Fraction(sum(d * d for d in own)) for own in differences]
    flipped = [
        [
            sum(s * d for s, d in zip(signs, own, strict=True)) ** 2 / (square or 1)
            for signs in every
        ]
        for own, square in zip(differences, squares, strict=True)
    ]
    seen = [own[0] for own in flipped]
    found = []
    for z in seen:
        rests = [[own for own in flipped if own[0] <= first] for first in seen if first >= z]
        firsts = [first for first in seen if first >= z]
        found.append(
            max(
                sum(max(values) >= first for values in zip(*rest, strict=True)) / len(every)
                for rest, first in zip(rests, firsts, strict=True)
            )
        )
    return found


@pytest.mark.parametrize("scale", [1.0, 0.1, 1 / 300])
def test_ties_count_whatever_the_rounding(scale):
    """Shares of few examples differ by few values, so that many sums of theirs are equal."""
    for seed in range(8):
        whole = np.random.default_rng(seed).integers(-2, 4, (12, 7))
        assert step_down_p(whole.T * scale).tolist() == exactly(whole.tolist())


def test_a_difference_in_the_eighth_digit_is_no_tie():
    """1 + 1e-8 and 1 - 1e-8 are one number in float32, and two statistics."""
    assert step_down_p(np.array([[1.0, 1.0], [1e-8, 1e-12]])).tolist() == [0.5, 1.0]
    assert (flipped_p([1.0, 1e-8]), flipped_p([1.0, 1e-12])) == (0.5, 1.0)


def test_blocks_of_signs_and_of_pairs_change_nothing(monkeypatch):
    differences = np.random.default_rng(5).normal(0.3, 1.0, (9, 40))
    whole = step_down_p(differences)
    monkeypatch.setattr(flips, "_SIGNS", 37)
    monkeypatch.setattr(flips, "_PRODUCTS", 37 * 9 * 7)
    assert step_down_p(differences).tolist() == whole.tolist()


def test_many_pairs_take_little_memory():
    differences = np.random.default_rng(6).normal(size=(12, 5000))
    sign_vectors(12)
    tracemalloc.start()
    step_down_p(differences)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5 * differences.nbytes


def test_drawn_signs_are_near_all_of_them(monkeypatch):
    differences = np.random.default_rng(1).normal(0.5, 1, 12).tolist()
    exact = flipped_p(differences)
    monkeypatch.setattr(flips, "EXHAUSTIVE", 5)
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
