"""The sign flip test: an exact test of the differences of two rows, paired by seed.

The null hypothesis is that the two results of a seed are exchangeable. Then every difference d_k
could as well have the other sign, and

    p = share of sign vectors s in {-1, 1}^n with z(s) >= z(1),   z(s) = |sum_k s_k d_k| / norm(d)

is exact whatever the distribution (Fisher 1935). z grows with Student's t of the flipped
differences, so the test has nearly the power of the t test if differences are normal. Six seeds
are the fewest with a p-value below 5%: 2 / 2^6 = 0.031.

The test does not compare the means of unlike distributions: a row that fails on one seed in five
and a row that always has the same mean result are not exchangeable.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from attnexp.stats.scaled import factors, scaled

EXHAUSTIVE = 17
"""The most seeds whose sign vectors are all used. The signs of further seeds are random."""

LEAST = 1024
"""The fewest sign vectors of a table with many seeds."""

PRODUCTS = 2**33
"""Multiplications of one table: with hundreds of rows, fewer sign vectors are used."""

_SIGNS = 2048
"""Sign vectors that are multiplied at a time, so that many pairs of rows take little memory."""

_PRODUCTS = 2**18
"""Multiplications at a time. Their results stay in the cache, and OpenBLAS starts no threads."""

TIE = 1e-9
"""The relative difference below which two statistics are the same but for rounding."""


@lru_cache(maxsize=8)
def sign_vectors(n: int, exhaustive: int = EXHAUSTIVE) -> NDArray[np.float64]:
    """Return one of each two opposite sign vectors of length n, as rows; the first is all ones.

    All vectors of the first `exhaustive` seeds are used. Further seeds have random signs, the same
    whatever n is, so that more seeds take no verdict back.
    """
    first = min(n, exhaustive)
    bits = (np.arange(2 ** (first - 1))[:, None] >> np.arange(first)) & 1
    further = [np.random.default_rng(seed).integers(0, 2, len(bits)) for seed in range(first, n)]
    every = np.column_stack([bits, *further])
    every[0] = 0
    return np.where(every, -1.0, 1.0)


def step_down_p(differences: Float[np.ndarray, "seeds pairs"]) -> NDArray[np.float64]:
    """Return the p-value of each pair, adjusted for the number of pairs.

    All pairs are flipped by the same signs. In descending order of z, each pair is compared with
    the largest z(s) of itself and the pairs after it (Westfall and Young 1993), so that the number
    of seeds needed does not grow with the number of pairs. The difference at a missing seed is 0.
    """
    differences = differences * factors(abs(differences).max(axis=0))
    norm = np.linalg.norm(differences, axis=0)
    normed = differences / np.where(norm > 0, norm, 1.0)
    z = np.abs(normed.sum(axis=0))
    order = np.argsort(z, kind="stable")
    reached = z[order] * (1 - TIE)
    most = max(LEAST, PRODUCTS // max(1, differences.size))
    signs = sign_vectors(len(differences), min(EXHAUSTIVE, int(math.log2(most)) + 1))
    ascending = np.ascontiguousarray(normed[:, order].T)
    above = np.zeros(len(z))
    for first in range(0, len(signs), _SIGNS):
        some = np.ascontiguousarray(signs[first : first + _SIGNS].T)
        several = max(1, _PRODUCTS // some.size)
        buffer = np.empty((several, some.shape[1]))
        largest = np.zeros(some.shape[1])
        for start in range(0, len(z), several):
            pairs = ascending[start : start + several]
            flipped = np.matmul(pairs, some, out=buffer[: len(pairs)])
            for pair, own in enumerate(np.abs(flipped, out=flipped), start):
                np.maximum(largest, own, out=largest)
                above[pair] += np.count_nonzero(largest >= reached[pair])
    adjusted = np.empty_like(z)
    adjusted[order] = np.maximum.accumulate((above / len(signs))[::-1])[::-1]
    return adjusted


def flipped_p(differences: Sequence[float]) -> float:
    """Return the p-value of one pair, without adjustment."""
    values = np.array(scaled(differences)[0])
    signs = sign_vectors(len(values))
    reached = abs(float(values.sum())) * (1 - TIE)
    return int(np.count_nonzero(np.abs(signs @ values) >= reached)) / len(signs)


@lru_cache(maxsize=8)
def _sizes(n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the numbers of seeds whose signs each vector but the first keeps, and flips.

    A drawn vector may be all ones again. It flips nan seeds, as it rejects no shift.
    """
    kept = np.count_nonzero(sign_vectors(n)[1:] > 0, axis=1).astype(np.float64)
    return kept, np.where(kept < n, n - kept, np.nan)


def interval(differences: Sequence[float], level: float) -> tuple[float, float]:
    """Return the interval of the mean difference: the values that the test does not reject.

    A sign vector divides the seeds into two parts, and counts against all values outside the means
    of the parts (Hartigan 1969), so both ends are such means. Ends are infinite if the seeds are
    too few to reject at this level.
    """
    numbers, factor = scaled(differences)
    values = np.array(numbers)
    kept, flipped = _sizes(len(values))
    total, sums = values.sum(), sign_vectors(len(values))[1:] @ values
    first, second = (total + sums) / (2 * kept), (total - sums) / (2 * flipped)
    lower, upper = np.fmin(first, second), np.fmax(first, second)
    place = int(level * (1 + len(lower)) * (1 + TIE)) - 1
    if place < 0:
        return -np.inf, np.inf
    ends = np.partition(lower, place)[place], -np.partition(-upper, place)[place]
    nothing = TIE * float(np.abs(values).max())
    low, high = (0.0 if abs(end) <= nothing else float(end) / factor for end in ends)
    return low, high
