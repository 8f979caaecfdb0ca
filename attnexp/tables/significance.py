"""Tests of the rows of a table against the best one, by their seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from attnexp.tables.statistics import LEVEL, MOST_SEEDS, PairedP, Spread, fewest_seeds, holm

Values = dict[int, dict[int, float]]
"""A metric by seed and, within a seed, by the other settings."""

Standing = Literal["best", "tied", "worse", "too few seeds", "one seed", "alone", "no value"] | None


@dataclass(frozen=True, slots=True)
class PairTest:
    """A test of one row against another.

    `p` is not adjusted. `differences` has one per pair of seeds, and `scale` is the size of the
    numbers that were subtracted. `pairs` is the number of seeds that both have, or 0 if they share
    fewer than two, in which case seeds are paired in ascending order.
    """

    p: float
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

    `p` is adjusted by Holm for all pairs of rows. `more` is the fewest and the most seeds to add
    before a tie is decided, from the ends of the 95% interval of the difference; None if that
    interval contains zero, or if MOST_SEEDS would not be enough. With too few seeds the fewest is
    what has to be added at least, and the most is None.
    """

    standing: Standing = None
    p: float | None = None
    test: PairTest | None = None
    more: tuple[int, int | None] | None = None

    @property
    def pairs(self) -> int | None:
        """The number of seeds that were paired, as in the test."""
        return self.test.pairs if self.test else None


def compare(
    rows: Sequence[Values], better: Literal["lower", "higher"], test: PairedP
) -> list[Verdict]:
    """Test every row against the best one.

    The best row is picked because it looks best. To test it against the others as if it had been
    picked beforehand claims differences between equals in 7% of tables of four and in over 11% of
    tables of ten (benchmarks/honesty.py). So Holm's family is all pairs of rows.
    """
    sides = [Spread(seed_means(values)) for values in rows]
    able = [i for i, side in enumerate(sides) if side.n > 1]
    if len(able) < 2:
        names: dict[int, Standing] = {0: "no value", 1: "one seed"}
        return [Verdict(names.get(side.n, "alone")) for side in sides]
    sign = 1 if better == "lower" else -1
    best = min(able, key=lambda i: sign * (sides[i].mean or 0.0))
    others = [i for i in able if i != best]
    tests = {i: pair_test(rows[i], rows[best], test) for i in others}
    family = _pairs(len(able))
    adjusted = dict(zip(others, holm([tests[i].p for i in others], family), strict=True))
    level, least = (1 - LEVEL) / family, least_seeds(len(able), test)
    verdicts = []
    for i, side in enumerate(sides):
        if i == best:
            verdicts.append(Verdict("best"))
        elif i not in tests:
            verdicts.append(Verdict("one seed" if side.n else "no value"))
        else:
            own, p = tests[i], float(adjusted[i])
            lacking = least - len(own.differences)
            if p <= 1 - LEVEL and sign * math.fsum(own.differences) > 0:
                verdicts.append(Verdict("worse", p, own))
            elif lacking > 0:
                verdicts.append(Verdict("too few seeds", p, own, (lacking, None)))
            else:
                verdicts.append(Verdict("tied", p, own, _more(own, test, level)))
    return verdicts


@lru_cache(maxsize=1000)
def least_seeds(rows: int, test: PairedP) -> int:
    """Return the fewest seeds at which a table of two rows or more can have a verdict.

    Nothing is clearer than a difference of 1, the most between two shares, that never varies.
    """
    return fewest_seeds(test, (1.0, 1.0), 1.0, (1 - LEVEL) / _pairs(rows)) or MOST_SEEDS


def seed_means(values: Values) -> list[float]:
    """Return one number per seed: seeds are the independent units."""
    return [math.fsum(blocks.values()) / len(blocks) for blocks in values.values()]


def pair_test(row: Values, best: Values, test: PairedP) -> PairTest:
    """Return a test paired by seed and block where two seeds are shared, else by order."""
    found = []
    for seed in row.keys() & best.keys():
        blocks = row[seed].keys() & best[seed].keys()
        if blocks:
            found.append([(row[seed][block], best[seed][block]) for block in blocks])
    pairs = len(found) if len(found) > 1 else 0
    if not pairs:
        ordered = (seed_means(dict(sorted(values.items()))) for values in (row, best))
        found = [[both] for both in zip(*ordered, strict=False)]
    differences = [math.fsum(a - b for a, b in both) / len(both) for both in found]
    scale = max(abs(number) for both in found for pair in both for number in pair)
    p = test(differences, scale, len(differences))
    return PairTest(p, tuple(differences), scale, pairs)


def _pairs(rows: int) -> int:
    return rows * (rows - 1) // 2


def _more(own: PairTest, test: PairedP, level: float) -> tuple[int, int] | None:
    """Return the fewest and the most seeds to add to a tie, from the interval of the difference."""
    side = Spread(own.differences)
    if side.mean is None or side.low is None or side.high is None or side.low * side.high <= 0:
        return None
    numbers = []
    for end in (side.low, side.high):
        moved = [difference - side.mean + end for difference in own.differences]
        seeds = fewest_seeds(test, moved, own.scale, level)
        if seeds is None:
            return None
        numbers.append(max(1, seeds - len(own.differences)))
    return min(numbers), max(numbers)
