"""Tests of the rows of a table against the best one, by their seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from statistics import fmean
from typing import Literal

from attnexp.tables.statistics import LEVEL, PairedP, holm

Values = dict[int, dict[int, float]]
"""A metric by seed and, within a seed, by the other settings."""

Standing = Literal["best", "tied", "worse", "too few seeds", "one seed", "alone", "no value"] | None


@dataclass(frozen=True, slots=True)
class Pairing:
    """The differences of one row from another, one per pair of seeds.

    `scale` is the size of the numbers that were subtracted. `pairs` is the number of seeds that
    both have, or 0 if they share fewer than two, in which case seeds are paired in ascending order.
    """

    differences: tuple[float, ...]
    scale: float
    pairs: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a row compares with the best of its table.

    - `best`: the best mean of the rows with two seeds or more.
    - `tied`: not shown to be worse than the best.
    - `worse`: shown to be worse, with a chance of at most 5% that the table says so of any row
      wrongly.
    - `too few seeds`: no result at this number of seeds could have shown it to be worse.
    - `one seed`: not comparable, however good. `alone`: there is nothing to compare with.
    - None: the metric does not rank.

    `p` is adjusted by Holm for all pairs of rows. `pairs` is the number of seeds that were paired,
    as in `Pairing`.
    """

    standing: Standing = None
    p: float | None = None
    pairs: int | None = None


def compare(
    rows: Sequence[Values], better: Literal["lower", "higher"], test: PairedP
) -> list[Verdict]:
    """Test every row against the best one.

    The best row is picked because it looks best. To test it against the others as if it had been
    picked beforehand claims differences between equals in 7% of tables of four and in over 11% of
    tables of ten (benchmarks/honesty.py). So Holm's family is all pairs of rows.
    """
    means = [seed_means(values) for values in rows]
    able = [i for i, own in enumerate(means) if len(own) > 1]
    if len(able) < 2:
        names: dict[int, Standing] = {0: "no value", 1: "one seed"}
        return [Verdict(names.get(len(own), "alone")) for own in means]
    sign = 1 if better == "lower" else -1
    best = min(able, key=lambda i: sign * fmean(means[i]))
    pairings = {i: pair(rows[i], rows[best]) for i in able if i != best}
    p_values = [test(own.differences, own.scale) for own in pairings.values()]
    adjusted = holm(p_values, math.comb(len(able), 2)).tolist()
    least = least_seeds(len(able), test)
    verdicts = [Verdict("one seed" if own else "no value") for own in means]
    verdicts[best] = Verdict("best")
    for (i, own), p in zip(pairings.items(), adjusted, strict=True):
        standing: Standing = "tied" if len(own.differences) >= least else "too few seeds"
        if p <= 1 - LEVEL and sign * math.fsum(own.differences) > 0:
            standing = "worse"
        verdicts[i] = Verdict(standing, p, own.pairs)
    return verdicts


@lru_cache(maxsize=1000)
def least_seeds(rows: int, test: PairedP) -> int:
    """Return the fewest seeds at which a table of two rows or more can have a verdict.

    Nothing is clearer than a difference of 1, the most between two shares, that never varies.
    """
    level = (1 - LEVEL) / math.comb(rows, 2)
    return next(n for n in count(2) if test([1.0] * n, 1.0) <= level)


def seed_means(values: Values) -> list[float]:
    """Return one number per seed: seeds are the independent units."""
    return [fmean(blocks.values()) for blocks in values.values()]


def pair(row: Values, best: Values) -> Pairing:
    """Return the differences by seed and block where two seeds are shared, else by order."""
    found = []
    for seed in row.keys() & best.keys():
        blocks = row[seed].keys() & best[seed].keys()
        if blocks:
            found.append([(row[seed][block], best[seed][block]) for block in blocks])
    pairs = len(found) if len(found) > 1 else 0
    if not pairs:
        ordered = (seed_means(dict(sorted(values.items()))) for values in (row, best))
        found = [[both] for both in zip(*ordered, strict=False)]
    differences = tuple(fmean(a - b for a, b in both) for both in found)
    scale = max(abs(number) for both in found for pair in both for number in pair)
    return Pairing(differences, scale, pairs)
