"""Tests and intervals of shares of seeds."""

from math import comb, sqrt
from statistics import NormalDist

from attnexp.stats.intervals import COVERAGE, LEVEL


def fisher(first: int, of_first: int, second: int, of_second: int) -> float:
    """Return the two-sided p-value of Fisher's exact test of two shares.

    This is the probability of all tables with the same margins that are at most as probable as the
    observed table.
    """
    ways = _ways(of_first, of_second, first + second)
    return sum(way for way in ways.values() if way <= ways[first]) / sum(ways.values())


def fisher_larger(first: int, of_first: int, second: int, of_second: int) -> float:
    """Return the one-sided p-value of Fisher's exact test; small if the first share is larger.

    This is the probability that `first` or more of the first + second successes are in the first.
    """
    ways = _ways(of_first, of_second, first + second)
    return sum(way for k, way in ways.items() if k >= first) / sum(ways.values())


def _ways(of_first: int, of_second: int, both: int) -> dict[int, int]:
    """Return, by k, in how many ways k of `both` successes are in the first."""
    possible = range(max(0, both - of_second), min(of_first, both) + 1)
    return {k: comb(of_first, k) * comb(of_second, both - k) for k in possible}


def share_interval(count: int, of: int, coverage: float = COVERAGE) -> tuple[float, float]:
    """Return the exact interval of a share, `count` of `of` (Clopper and Pearson 1934).

    Its ends are the shares at which `count` or more, and `count` or fewer, have the probability
    (1 - coverage) / 2.
    """
    from scipy.special import betaincinv  # takes 0.2 s

    tail = (1 - coverage) / 2
    low = betaincinv(count, of - count + 1, tail) if count else 0.0
    high = betaincinv(count + 1, of - count, 1 - tail) if count < of else 1.0
    return float(low), float(high)


def most_failing(n: int) -> float:
    """Return the upper 95% bound of the failure rate if none of n seeds failed."""
    return 1 - LEVEL ** (1 / n)


def largest_difference(
    first: int, of_first: int, second: int, of_second: int, level: float
) -> float:
    """Return the upper end of the interval of the first share minus the second.

    One success and one failure are added to each (Agresti and Caffo 2000).
    """
    one, other = (first + 1) / (of_first + 2), (second + 1) / (of_second + 2)
    variance = one * (1 - one) / (of_first + 2) + other * (1 - other) / (of_second + 2)
    return one - other + NormalDist().inv_cdf(1 - level / 2) * sqrt(variance)
