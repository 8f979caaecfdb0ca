"""Intervals of a mean over a handful of seeds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from attnexp.stats.scaled import mean, scaled

LEVEL = 0.05
"""The family-wise error rate: the chance that a table calls any row worse although none differs."""

COVERAGE = 1 - LEVEL

ROUNDING = 4 * 2.0**-23
"""Relative size of rounding: metrics are float32, eps 2^-23."""

BEND = 0.003 * np.sinh(np.linspace(-6, 6, 41))
"""Distances from the log odds of the observed mean at which the model is evaluated."""

LEAST_SIZE = 3.0
"""The least size s of the beta-binomial model, from which on the density of shares has one peak."""

SHARE, PERCENT, POSITIVE = (0.0, 1.0), (0.0, 100.0), (0.0, math.inf)

NORMAL = 1.96
"""The 97.5% quantile of the normal distribution."""

RANGES: Mapping[str, tuple[float, float]] = {
    "share": SHARE,
    "of 100": PERCENT,
    **dict.fromkeys(
        ("nats", "keys", "x", "y", "y^2", "errors per symbol", "absolute value"), POSITIVE
    ),
}
"""The range of each unit; other units have no bounds."""

UNBOUNDED = (-math.inf, math.inf)


@dataclass(frozen=True)
class Spread:
    """Mean over seeds, standard deviation (n - 1 in the denominator), and interval of the mean.

    The interval has the `coverage` 1 - a, by default 95%, and stays within the range of the
    metric's `unit` (`RANGES`):

    - without bounds: Student's interval, mean -/+ t(1 - a/2, n - 1) sd / sqrt(n);
    - positive numbers: mean e^-h to mean e^h, with
      h = t(1 - a/2, n - 1) sqrt(v / n + v^2 / (2 (n - 1))) and v the variance of the logarithms,
      after Cox (Zhou and Gao 1997): as Student's if v is small, and wider if errors are skewed;
    - shares, each over `examples` examples: the wider of Student's interval and the interval of a
      beta-binomial model, which allows for seeds that fall from a bound. The model takes a
      millisecond and is computed on first access.

    Values of splits of the same rows are not independent: with `overlap` = n_test / n_train,
    1/n + overlap takes the place of 1/n (Nadeau and Bengio 2003).

    With one value there is neither deviation nor interval; with none there is no mean either.
    """

    values: Sequence[float]
    unit: str = ""
    examples: int = 100
    overlap: float = 0.0
    coverage: float = COVERAGE

    @property
    def n(self) -> int:
        """The number of seeds."""
        return len(self.values)

    @cached_property
    def mean(self) -> float | None:
        """The mean over seeds."""
        return mean(self.values) if self.values else None

    @cached_property
    def sd(self) -> float | None:
        """The standard deviation over seeds."""
        return moments(self.values)[1] if self.n > 1 else None

    @cached_property
    def interval(self) -> tuple[float, float] | tuple[None, None]:
        """The ends of the interval of the mean."""
        if self.mean is None or self.sd is None:
            return None, None
        least, most = RANGES.get(self.unit, UNBOUNDED)
        share = 1 / self.n + self.overlap
        t = student_quantile(self.n - 1, self.coverage)
        if (least, most) == POSITIVE and min(self.values) > 0:
            _, sd = moments([math.log(value) for value in self.values])
            reach = t * math.sqrt(sd**2 * share + sd**4 / (2 * (self.n - 1)))
            with np.errstate(over="ignore"):
                return self.mean * math.exp(-reach), self.mean * float(np.exp(reach))
        reach = t * self.sd * math.sqrt(share)
        low, high = self.mean - reach, self.mean + reach
        if (least, most) == SHARE:
            inside = tuple(sorted(min(max(value, 0.0), 1.0) for value in self.values))
            model_low, model_high = _beta_binomial(inside, self.examples, self.coverage)
            low, high = min(low, model_low), max(high, model_high)
        return max(least, low), min(most, high)

    @property
    def low(self) -> float | None:
        """The lower end of the interval."""
        return self.interval[0]

    @property
    def high(self) -> float | None:
        """The upper end of the interval."""
        return self.interval[1]


@lru_cache(maxsize=10_000)
def _beta_binomial(
    values: tuple[float, ...], examples: int, coverage: float = COVERAGE
) -> tuple[float, float]:
    """Return the central interval of the mean share under the beta-binomial model.

    With m examples per seed, a share x_i is k_i / m, k_i ~ BetaBinomial(m, mu s, (1 - mu) s), so
    that

        log p(x | mu, s) = sum_i log B(mu s + k_i, (1 - mu) s + m - k_i) - n log B(mu s, (1 - mu) s)

    (Skellam 1948; B is the beta function, and k_i need not be an integer). The prior is uniform in
    mu and in log s, at 12 values from LEAST_SIZE, where shares have one peak, to 10 m, where seeds
    differ by their examples alone. If every answer is right the interval ends at 1, and if none is
    right it begins at 0 (Brown, Cai and DasGupta 2001).
    """
    from scipy.special import gammaln  # takes 0.2 s, and only shares need it

    n, m = len(values), examples
    shares, counts = np.unique(values, return_counts=True)
    total = float(shares @ counts) / n
    # The grid is dense at the observed mean, and even in log odds elsewhere.
    middle = math.log((total * n * m + 0.5) / ((1 - total) * n * m + 0.5))
    odds = np.sort(np.concatenate([np.linspace(-10, 10, 97), middle + BEND]))[:, None]
    mu, size = (
        1 / (1 + np.exp(-odds)),
        np.exp(np.linspace(math.log(LEAST_SIZE), math.log(10 * m), 12)),
    )
    right, wrong = mu * size, size / (1 + np.exp(odds))
    logs = n * (gammaln(size) - gammaln(size + m) - gammaln(right) - gammaln(wrong))
    for share, count in zip(shares, counts, strict=True):
        logs += count * (gammaln(right + share * m) + gammaln(wrong + (1 - share) * m))
    density = np.exp(logs - logs.max()).sum(axis=1)
    mu = mu.ravel()
    below = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) * np.diff(mu))])
    low, high = np.interp([(1 - coverage) / 2, (1 + coverage) / 2], below / below[-1], mu)
    return (0.0 if total == 0 else float(low)), (1.0 if total == 1 else float(high))


def moments(values: Sequence[float]) -> tuple[float, float]:
    """Return mean and standard deviation (n - 1 in the denominator) of two values or more."""
    numbers, factor = scaled(values)
    middle = math.fsum(numbers) / len(numbers)
    squares = math.fsum((number - middle) ** 2 for number in numbers)
    return middle / factor, math.sqrt(squares / (len(numbers) - 1)) / factor


def student_tail(t: float, df: int) -> float:
    """Return P(|T| > t) under Student's distribution with `df` degrees of freedom."""
    from scipy.special import stdtr  # takes 0.2 s

    return 2 * float(stdtr(df, -t))


def student_quantile(df: int, coverage: float = COVERAGE) -> float:
    """Return the t with P(|T| <= t) = coverage under Student's distribution."""
    from scipy.special import stdtrit  # takes 0.2 s

    return float(stdtrit(df, (1 + coverage) / 2))


def student_reach(values: Sequence[float], level: float, overlap: float) -> float:
    """Return half the width of Student's interval of a mean, with `overlap` as in `Spread`."""
    n = len(values)
    _, sd = moments(values)
    return student_quantile(n - 1, 1 - level) * sd * math.sqrt(1 / n + overlap)


def matched_shares(changed: int, net: int, n: int) -> tuple[float, float]:
    """Return the ends of the 95% interval of a difference of two shares of the same examples.

    `changed` of `n` examples have differences of -1 or 1, and `net` is their sum. Half an example
    is added to each outcome (Agresti and Min 2005), so that the interval never is a point.
    """
    reach = NORMAL * math.sqrt(changed + 1 - net**2 / (n + 2)) / (n + 2)
    middle = net / (n + 2)
    return max(middle - reach, -1.0), min(middle + reach, 1.0)
