"""How small a difference a number of seeds can show, and how many seeds a difference takes."""

import math
from bisect import bisect_left
from statistics import NormalDist

from attnexp.stats.compare import Difference, Rule
from attnexp.stats.flips import EXHAUSTIVE
from attnexp.stats.intervals import ROUNDING

POWER = 0.8
"""The chance of a verdict that is asked for."""

MOST_SEEDS = 1000
"""The most seeds that are advised."""


def detectable(seeds: int, level: float, tests: int = 1, overlap: float = 0.0) -> float:
    """Return the least difference, in standard deviations of the pairs, that is found in 80%.

    It is that of the paired t test, whose statistic is noncentral (Student's with the centre effect
    / sqrt(1/n)), at the level that each of `tests` pairs of rows has (Bonferroni). The test by the
    signs of few seeds has no more of the level than some of its 2^(n - 1) ways; if only the
    clearest is a verdict, all n signs have to agree: Phi(effect)^n = 0.8. Of splits of the same
    rows, 1/n + overlap takes the place of 1/n (Nadeau and Bengio 2003).

    Valid from the fewest seeds of a verdict on, n >= 1 - log2(level). Pairs of rows share seeds,
    so that among many rows such a difference is found a little more often.
    """
    from scipy.special import nctdtrinc, stdtrit  # takes 0.2 s

    allowed = math.floor(level * 2 ** (seeds - 1) * (1 + ROUNDING)) if seeds <= EXHAUSTIVE else 0
    own = allowed / 2 ** (seeds - 1) if allowed and not overlap else level
    bound = stdtrit(seeds - 1, 1 - own / tests / 2)
    effect = float(nctdtrinc(seeds - 1, 1 - POWER, bound)) * math.sqrt(1 / seeds + overlap)
    if allowed == 1 and not overlap:
        effect = max(effect, NormalDist().inv_cdf(POWER ** (1 / seeds)))
    return effect


def seeds_needed(difference: Difference, rule: Rule) -> int | None:
    """Return the seeds, more than there are, at which such a difference is found in 80% of tables.

    It is among as many tests as there were. None if seeds do not differ, if their mean is zero, and
    if more than MOST_SEEDS would be needed.
    """
    if not difference.sd or not difference.mean:
        return None
    effect = abs(difference.mean) / difference.sd
    numbers = range(max(difference.pairs + 1, rule.least), MOST_SEEDS + 1)
    place = bisect_left(
        numbers, True, key=lambda n: detectable(n, rule.level, difference.tests) <= effect
    )
    return numbers[place] if place < len(numbers) else None
