"""How small a difference a number of seeds can show, and how many seeds a difference takes."""

import math
from statistics import NormalDist

from attnexp.stats.compare import Difference, Rule

POWER = 0.8
"""The chance of a verdict that is asked for."""

MOST_SEEDS = 1000
"""The most seeds that are advised."""


def detectable(seeds: int, level: float, overlap: float = 0.0) -> float:
    """Return the least difference, in standard deviations of the pairs, that is found in 80%.

    It is that of the paired t test, (z_a + z_b) / sqrt(n - z_a^2 / 2), where a is half the level
    and b is 0.8. If nothing but n equal signs is a verdict, all n have to agree: Phi(effect)^n =
    0.8. Of splits of the same rows, 1/n + overlap takes the place of 1/n (Nadeau and Bengio 2003).

    It is for as many seeds as can decide at all, n >= 1 - log2(level).
    """
    normal = NormalDist()
    z = normal.inv_cdf(1 - level / 2)
    size = max(seeds - z**2 / 2, 1.0)
    effect = (z + normal.inv_cdf(POWER)) * math.sqrt(1 / size + overlap)
    if not overlap and 4 / 2**seeds > level:  # the next clearest ways to sign are too many
        effect = max(effect, normal.inv_cdf(POWER ** (1 / seeds)))
    return effect


def seeds_needed(difference: Difference, rule: Rule) -> int | None:
    """Return the seeds, more than there are, at which such a difference is found in 80% of tables.

    It is at the level at which the difference was tested. None if seeds do not differ, if
    their mean is zero, and if more than MOST_SEEDS would be needed.
    """
    if not difference.sd or not difference.mean:
        return None
    effect = abs(difference.mean) / difference.sd
    normal = NormalDist()
    z = normal.inv_cdf(1 - difference.level / 2)
    if z + normal.inv_cdf(POWER) > effect * math.sqrt(MOST_SEEDS):
        return None
    least = ((z + normal.inv_cdf(POWER)) / effect) ** 2 + z**2 / 2
    if least > MOST_SEEDS:
        return None
    needed = max(difference.pairs + 1, rule.least, math.ceil(least))
    while detectable(needed, difference.level) > effect:
        needed += 1
    return needed
