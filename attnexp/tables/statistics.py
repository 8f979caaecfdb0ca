"""Intervals and tests for a handful of seeds."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.95
"""Coverage of an interval; one minus it is the chance of a false claim in a whole comparison."""

ROUNDING = 4 * float(np.finfo(np.float32).eps)
"""Relative size of differences that are nothing but rounding: metrics are computed in float32."""

WIDENING = 2.5
"""How many times its standard error Student's statistic is divided by.

It is measured and not derived. For differences of mean zero that are lognormal (sigma = 1), 2.5 is
the first multiple of a half with at most 5% of false claims over four looks at growing numbers of
seeds (benchmarks/honesty.py). For normal ones it costs power.
"""

STAKES = np.sin((np.arange(32) + 0.5) * np.pi / 64) ** 2
"""The stakes of the betting test: quantiles of the arcsine distribution (Cover 1991)."""

BEND = 0.003 * np.sinh(np.linspace(-6, 6, 41))
"""The distances in log odds from the observed mean at which the model is evaluated."""

GAP = 0.2
"""The least distance between two groups of shares that are told apart."""

PairedP = Callable[[Sequence[float], float], float]
"""A test: its p-value for differences paired by seed, at the scale of the numbers."""


@dataclass(frozen=True)
class Spread:
    """Mean over seeds, standard deviation (n - 1 in the denominator), and interval of the mean.

    The interval is Student's, mean -/+ t(1 - 0.05/2, n - 1) sd / sqrt(n). It is not a bootstrap:
    for five normal values, percentile and BCa intervals cover the mean in about 84% of cases, where
    Student's cover it in 95% (benchmarks/honesty.py).

    Values that are shares, each over `examples` examples, have an interval that lies in [0, 1] and
    is never empty: the wider of Student's and that of the beta-binomial model. Student's sees how
    far seeds are apart and knows no bounds; the model knows that seeds near a bound can fall far
    from it. It takes a millisecond and is computed when it is first read.

    With one value there is neither deviation nor interval; with none there is no mean either.
    """

    values: Sequence[float]
    examples: int | None = None

    @property
    def n(self) -> int:
        """The number of seeds."""
        return len(self.values)

    @cached_property
    def mean(self) -> float | None:
        """The mean over seeds."""
        return math.fsum(self.values) / self.n if self.values else None

    @cached_property
    def sd(self) -> float | None:
        """The standard deviation over seeds."""
        return moments(self.values)[1] if self.n > 1 else None

    @cached_property
    def interval(self) -> tuple[float, float] | tuple[None, None]:
        """The ends of the 95% interval of the mean."""
        if self.mean is None or self.sd is None:
            return None, None
        reach = student_quantile(self.n - 1) * self.sd / math.sqrt(self.n)
        low, high = self.mean - reach, self.mean + reach
        if self.examples is None:
            return low, high
        inside = tuple(sorted(min(max(value, 0.0), 1.0) for value in self.values))
        model_low, model_high = _beta_binomial(inside, self.examples)
        return max(0.0, min(low, model_low)), min(1.0, max(high, model_high))

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return self.interval[0]

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return self.interval[1]


def student_tail(t: float, df: int) -> float:
    """Return P(|T| > t) under Student's distribution with `df` degrees of freedom.

    For whole degrees of freedom it is a finite sum (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4),
    which takes less time than the import of SciPy.
    """
    angle, odd = math.atan(t / math.sqrt(df)), df % 2
    inside = angle if odd else 0.0
    term = math.sin(angle) * (math.cos(angle) if odd else 1.0)
    for i in range(1 + odd, df, 2):
        inside += term
        term *= math.cos(angle) ** 2 * i / (i + 1)
    return 1 - inside * (2 / math.pi if odd else 1.0)


@lru_cache(maxsize=1000)
def student_quantile(df: int) -> float:
    """Return the t with P(|T| <= t) = LEVEL under Student's distribution, by bisection."""
    low, high = 1.0, 20.0
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if student_tail(middle, df) > 1 - LEVEL else (low, middle)
    return high


@lru_cache(maxsize=10_000)
def _beta_binomial(values: tuple[float, ...], examples: int) -> tuple[float, float]:
    """Return the central 95% interval of the mean share under the beta-binomial model.

    With m examples per seed, a share x_i is k_i / m, k_i ~ BetaBinomial(m, mu s, (1 - mu) s), so
    that

        log p(x | mu, s) = sum_i log B(mu s + k_i, (1 - mu) s + m - k_i) - n log B(mu s, (1 - mu) s)

    (Skellam 1948; B is the beta function, which also takes a k_i that is not an integer). The prior
    is uniform in mu and in log s, which has 12 values from 0.01, where each seed is all or nothing,
    to 10 m, where seeds differ by their examples alone. If every answer is right the interval ends
    at 1, and if none is it begins at 0 (Brown, Cai and DasGupta 2001).
    """
    from scipy.special import gammaln  # takes 0.2 s, and only shares need it

    n, m = len(values), examples
    shares, counts = np.unique(values, return_counts=True)
    total = float(shares @ counts) / n
    # The grid is dense at the observed mean, and even in log odds elsewhere.
    middle = math.log((total * n * m + 0.5) / ((1 - total) * n * m + 0.5))
    odds = np.sort(np.concatenate([np.linspace(-10, 10, 97), middle + BEND]))[:, None]
    mu, size = 1 / (1 + np.exp(-odds)), np.exp(np.linspace(math.log(0.01), math.log(10 * m), 12))
    right, wrong = mu * size, size / (1 + np.exp(odds))
    logs = n * (gammaln(size) - gammaln(size + m) - gammaln(right) - gammaln(wrong))
    for share, count in zip(shares, counts, strict=True):
        logs += count * (gammaln(right + share * m) + gammaln(wrong + (1 - share) * m))
    density = np.exp(logs - logs.max()).sum(axis=1)
    mu = mu.ravel()
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) * np.diff(mu))])
    low, high = np.interp([(1 - LEVEL) / 2, (1 + LEVEL) / 2], below / below[-1], mu)
    return (0.0 if total == 0 else float(low)), (1.0 if total == 1 else float(high))


def moments(values: Sequence[float]) -> tuple[float, float]:
    """Return mean and standard deviation, n - 1 below the line, of two values or more."""
    mean = math.fsum(values) / len(values)
    squares = math.fsum((value - mean) ** 2 for value in values)
    return mean, math.sqrt(squares / (len(values) - 1))


def student_p(differences: Sequence[float], scale: float) -> float:
    """Return the two-sided p-value of the widened t test for a mean difference of zero.

    It is the larger of P(|T| >= |d| sqrt(n) / (WIDENING sd)) under Student's distribution with
    n - 1 degrees of freedom, and 2^(1 - n), below which no test that looks at signs and ranks
    alone can come: with few seeds, even differences that agree may agree by chance.

    `scale` is the size of the numbers that were subtracted: differences that vary by no more than
    its rounding are all the same, which leaves the t test no spread to measure. The p-value is then
    2^(1 - n), or 1 where the difference is zero.
    """
    n = len(differences)
    t = abs(effect_size(differences, scale)) * math.sqrt(n) / WIDENING
    return max(student_tail(t, n - 1), 2.0 ** (1 - n))


def betting_p(differences: Sequence[float], scale: float) -> float:
    """Return the two-sided p-value of the betting test for a mean difference of zero.

    The differences of two shares lie in [-1, 1]. Who bets the stake b on each has the capital
    prod_i (1 + b d_i), whose expectation is 1 under the hypothesis, whatever the distribution. The
    p-value is 1 over the mean capital over all STAKES and both directions. By Ville's inequality it
    is at most 0.05 in at most 5% of cases, however often one looks while seeds are added
    (Waudby-Smith and Ramdas 2024). `scale` plays no part: nothing is divided by a spread.
    """
    won = np.outer(np.concatenate([STAKES, -STAKES]), np.clip(differences, -1, 1))
    return min(1.0, 1 / float(np.prod(1 + won, axis=1).mean()))


def effect_size(differences: Sequence[float], scale: float) -> float:
    """Return mean over deviation: infinite where all are the same, but 0 where they are zero."""
    mean, sd = moments(differences)
    rounding = ROUNDING * scale
    if sd <= rounding:
        return 0.0 if abs(mean) <= rounding else math.copysign(math.inf, mean)
    return mean / sd


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


def two_groups(shares: Sequence[float]) -> tuple[list[float], list[float]] | None:
    """Return the lower and the upper of two groups that shares fall into; None where they do not.

    The groups are cut at the widest gap. It has to be GAP or more, and four times as wide as either
    group; of fewer than three shares nothing is said.
    """
    ordered = sorted(shares)
    gaps = [above - below for below, above in pairwise(ordered)]
    if len(gaps) < 2:
        return None
    cut = gaps.index(max(gaps)) + 1
    low, high = ordered[:cut], ordered[cut:]
    widest = max(low[-1] - low[0], high[-1] - high[0])
    return (low, high) if gaps[cut - 1] >= max(GAP, 4 * widest) else None
