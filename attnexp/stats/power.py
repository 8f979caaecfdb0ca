"""The smallest difference that a number of seeds can show, and the seeds a difference needs."""

import math
from bisect import bisect_left
from statistics import NormalDist

import numpy as np

from attnexp.stats.compare import Difference, Rule
from attnexp.stats.flips import EXHAUSTIVE
from attnexp.stats.intervals import ROUNDING
from attnexp.stats.sequential import level_at

POWER = 0.8
"""The requested chance of a verdict."""

MOST_SEEDS = 1000
"""The most seeds that notes advise."""


def detectable(seeds: int, level: float, tests: int = 1, overlap: float = 0.0) -> float:
    """Return the least difference, in standard deviations of the pairs, with a power of 80%.

    The power is that of the paired t test, a noncentral t with the centre effect / sqrt(1/n), at
    the level / tests (Bonferroni). The p-values of sign flips of few seeds are multiples of
    1 / 2^(n - 1), and the level is rounded down to one. If only the smallest is left, all n signs
    have to agree: Phi(effect)^n = 0.8. For splits of the same rows, 1/n + overlap takes the place
    of 1/n (Nadeau and Bengio 2003).

    Valid for n >= 1 - log2(level). With many rows the power is a little higher, as pairs of rows
    share seeds.
    """
    from scipy.special import nctdtrinc, stdtrit  # takes 0.2 s

    allowed = math.floor(level * 2 ** (seeds - 1) * (1 + ROUNDING)) if seeds <= EXHAUSTIVE else 0
    own = allowed / 2 ** (seeds - 1) if allowed and not overlap else level
    bound = stdtrit(seeds - 1, 1 - own / tests / 2)
    effect = float(nctdtrinc(seeds - 1, 1 - POWER, bound)) * math.sqrt(1 / seeds + overlap)
    if allowed == 1 and not overlap:
        effect = max(effect, NormalDist().inv_cdf(POWER ** (1 / seeds)))
    return effect


def level_of_analysis(seeds: int, before: int, parts: int = 1) -> float:
    """Return the level of a test at an analysis of `seeds`, after one of `before` seeds.

    For z_1 and z_2 standard normal with the correlation sqrt(before / seeds), it is P(|z_2| > c_2)
    with P(|z_1| > c_1) = level_at(before) / parts and
    P(|z_1| > c_1 or |z_2| > c_2) = level_at(seeds) / parts (Lan and DeMets 1983). Without an
    earlier analysis it is level_at(seeds) / parts.
    """
    from scipy.special import ndtr, ndtri  # takes 0.2 s

    spent, level = level_at(before) / parts, level_at(seeds) / parts
    if not spent:
        return level
    first, shared = -float(ndtri(spent / 2)), math.sqrt(before / seeds)
    z = np.linspace(-first, first, 801)
    rest = math.sqrt(1 - shared**2)

    def crossed(bound: float) -> float:
        inside = ndtr((bound - shared * z) / rest) - ndtr((-bound - shared * z) / rest)
        return 1 - float(np.trapezoid(inside * np.exp(-(z**2) / 2), z)) / math.sqrt(2 * math.pi)

    bounds = np.linspace(first / 2, 2 * first + 4, 2000)
    place = bisect_left(bounds, True, key=lambda bound: crossed(bound) <= level)
    return 2 * float(ndtr(-bounds[place]))


def seeds_needed(difference: Difference, rule: Rule) -> int | None:
    """Return the number of seeds, more than now, at which the difference has a power of 80%.

    The number of tests stays the same, with one more analysis. None if the deviation or the mean is
    zero, or if more than MOST_SEEDS would be needed.
    """
    if not difference.sd or not difference.mean:
        return None
    effect, tests = abs(difference.mean) / difference.sd, difference.tests
    renewed, before = difference.renewed, difference.pairs + difference.renewed

    def is_found(seeds: int) -> bool:
        left = rule.level_at(seeds + renewed) - rule.level_at(before)
        if seeds <= EXHAUSTIVE and left * 2 ** (seeds - 1) * (1 + ROUNDING) < 1:
            return False
        level = level_of_analysis(seeds + renewed, before, rule.parts * tests) * tests
        return detectable(seeds, level, tests) <= effect

    numbers = range(max(difference.pairs + 1, rule.least), MOST_SEEDS + 1)
    place = bisect_left(numbers, True, key=is_found)
    return numbers[place] if place < len(numbers) else None
