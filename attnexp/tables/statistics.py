"""Intervals, tests and power for a handful of seeds.

Only `scipy.special` is imported of SciPy: `scipy.stats` takes half a second longer to import.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import nctdtr, stdtr, stdtrit

LEVEL = 0.95
"""Coverage of an interval; one minus it is the chance of a false claim in a whole comparison."""

POWER = 0.8
"""The chance of telling two configurations apart for which a number of seeds is named."""

MOST_SEEDS = 1000
"""The most seeds that are recommended."""

ROUNDING = 4 * float(np.finfo(np.float32).eps)
"""Relative size of differences that are nothing but rounding: metrics are computed in float32."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean of n values, standard deviation (n - 1 below the line), and the interval of the mean.

    With one value there is no deviation and no interval; with none there is no mean either.
    """

    n: int
    mean: float | None
    sd: float | None
    low: float | None
    high: float | None


def spread(values: Sequence[float]) -> Spread:
    """Return mean, deviation and Student's interval, mean -/+ t(1 - 0.05/2, n - 1) sd / sqrt(n).

    Not a bootstrap: of five normal values, percentile and BCa intervals cover the mean in about 84%
    of cases, where Student's cover it in 95% (benchmarks/honesty.py).
    """
    n = len(values)
    if n == 0:
        return Spread(0, None, None, None, None)
    if n == 1:
        return Spread(1, float(values[0]), None, None, None)
    mean, sd = moments(values)
    reach = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * sd / math.sqrt(n)
    return Spread(n, mean, sd, mean - reach, mean + reach)


def moments(values: Sequence[float]) -> tuple[float, float]:
    """Return mean and standard deviation, n - 1 below the line, of two values or more."""
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(squares / (len(values) - 1))


def paired_p(differences: Sequence[float], scale: float) -> float:
    """Return the two-sided p-value for a mean difference of zero, of two differences or more.

    There is one difference a seed, and the test is Student's. `scale` is the size of the numbers
    that were subtracted:
    differences that vary by no more than its rounding are all the same, which leaves Student's test
    no spread to measure. Then the sign test answers: 2^(1 - n), or 1 where the difference is zero.
    """
    effect = effect_size(differences, scale)
    n = len(differences)
    if math.isinf(effect):
        return 2.0 ** (1 - n)
    return _two_sided(effect * math.sqrt(n), n - 1)


def effect_size(differences: Sequence[float], scale: float) -> float:
    """Return mean over deviation: infinite where all are the same, but 0 where they are zero."""
    mean, sd = moments(differences)
    rounding = ROUNDING * scale
    if sd <= rounding:
        return 0.0 if abs(mean) <= rounding else math.copysign(math.inf, mean)
    return mean / sd


def welch_p(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the two-sided p-value for equal means of two samples of two values or more.

    Welch 1947. Without any spread on either side the p-value is 1.
    """
    (mean, sd), (other_mean, other_sd) = moments(first), moments(second)
    parts = sd**2 / len(first), other_sd**2 / len(second)
    error = math.sqrt(sum(parts))
    if error <= ROUNDING * max(abs(mean), abs(other_mean)):
        return 1.0
    freedom = sum(parts) ** 2 / (
        parts[0] ** 2 / (len(first) - 1) + parts[1] ** 2 / (len(second) - 1)
    )
    return _two_sided((mean - other_mean) / error, freedom)


def holm(p_values: Sequence[float], family: int) -> NDArray[np.float64]:
    """Return p-values adjusted for being some of a family of `family` tests. Holm 1979.

    The adjusted value of the i-th smallest is the largest of (family + 1 - j) p_j over j <= i, at
    most 1. The tests that are not among `p_values` count as ones with larger p-values, which can
    only make the adjusted values larger.
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    factors = family - np.arange(len(p))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * p[order]))
    return adjusted


@lru_cache(maxsize=10_000)
def seeds_to_tell(effect: float, level: float) -> int | None:
    """Return the fewest seeds with which a paired test at `level` finds an effect.

    It finds it with a chance of POWER. None where that takes more than MOST_SEEDS.
    """
    if math.isinf(effect):
        return math.ceil(1 - math.log2(level))
    enough, short = MOST_SEEDS, 1
    if not _power(effect, enough, level) >= POWER:
        return None
    while enough - short > 1:
        middle = (enough + short) // 2
        if _power(effect, middle, level) >= POWER:
            enough = middle
        else:
            short = middle
    return enough


def _power(effect: float, n: int, level: float) -> float:
    """Return the chance that the two-sided paired t test rejects in the effect's direction."""
    shift = abs(effect) * math.sqrt(n)
    critical = float(stdtrit(n - 1, 1 - level / 2))
    if shift - critical > 30:
        return 1.0  # the distribution function overflows far out
    return 1 - float(nctdtr(n - 1, shift, critical))


def _two_sided(t: float, freedom: float | int) -> float:
    return float(2 * stdtr(freedom, -abs(t)))
