"""Tests of the rows of a table against the best one, by their seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from attnexp.tables.statistics import (
    LEVEL,
    effect_size,
    holm,
    moments,
    paired_p,
    seeds_to_tell,
    spread,
    welch_p,
)

Values = dict[int, dict[int, float]]
"""A metric by seed and, within a seed, by what else was set."""

Standing = Literal["best", "tied", "worse", "one seed", "alone", "no value"]


@dataclass(frozen=True, slots=True)
class PairTest:
    """A test of one row against another.

    `p` is not adjusted. `effect` is the mean difference in standard deviations. `pairs` is the
    number of seeds that both have, or 0 where they share fewer than two, and the test is Welch's;
    `seeds` is what either side has at least.
    """

    p: float
    effect: float
    pairs: int
    seeds: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a row stands to the best of its table.

    - `best`: the best mean of the rows with two seeds or more.
    - `tied`: not shown to be worse than the best.
    - `worse`: shown to be worse, with a chance of at most 5% that the table says so of any row
      wrongly.
    - `one seed`: not comparable, however good. `alone`: there is nothing to compare with.

    `p` is adjusted by Holm for all pairs of rows, and `level` is what one pair has to reach.
    """

    standing: Standing
    p: float | None = None
    test: PairTest | None = None
    level: float | None = None

    @property
    def more(self) -> int | None:
        """Seeds to add before a tie would be told, if the rows differ as much as they seem to.

        None where there is no tie, and where MOST_SEEDS would not be enough.
        """
        if self.standing != "tied" or self.test is None or self.level is None:
            return None
        needed = seeds_to_tell(self.test.effect, self.level)
        return None if needed is None else max(1, needed - self.test.seeds)


def compare(rows: Sequence[Values], better: Literal["lower", "higher"]) -> list[Verdict]:
    """Test every row against the best one.

    The best row is picked because it looks best. To test it against the others as if it had been
    picked beforehand claims differences between equals in 7% of tables of four and in over 11% of
    tables of ten (benchmarks/honesty.py). So Holm's family is all pairs of rows.
    """
    means = [seed_means(values) for values in rows]
    sides = [spread(values) for values in means]
    able = [i for i, side in enumerate(sides) if side.n > 1]
    if len(able) < 2:
        names: dict[int, Standing] = {0: "no value", 1: "one seed"}
        return [Verdict(names.get(side.n, "alone")) for side in sides]
    sign = 1 if better == "lower" else -1
    best = min(able, key=lambda i: sign * (sides[i].mean or 0.0))
    others = [i for i in able if i != best]
    tests = {i: _test(rows[i], rows[best]) for i in others}
    family = len(able) * (len(able) - 1) // 2
    adjusted = dict(zip(others, holm([tests[i].p for i in others], family), strict=True))
    verdicts = []
    for i, side in enumerate(sides):
        if i == best:
            verdicts.append(Verdict("best"))
        elif i not in tests:
            verdicts.append(Verdict("one seed" if side.n else "no value"))
        else:
            p = float(adjusted[i])
            worse = p <= 1 - LEVEL and sign * tests[i].effect > 0
            verdicts.append(
                Verdict("worse" if worse else "tied", p, tests[i], (1 - LEVEL) / family)
            )
    return verdicts


def seed_means(values: Values) -> list[float]:
    """Return one number a seed: seeds are what is independent."""
    return [math.fsum(blocks.values()) / len(blocks) for blocks in values.values()]


def _test(row: Values, best: Values) -> PairTest:
    """Return a test paired by seed and block where two seeds are shared, else Welch's."""
    differences, scale = [], 0.0
    for seed in row.keys() & best.keys():
        blocks = row[seed].keys() & best[seed].keys()
        if blocks:
            gaps = [row[seed][block] - best[seed][block] for block in blocks]
            differences.append(math.fsum(gaps) / len(gaps))
            scale = max(scale, *(abs(row[seed][b]) for b in blocks), abs(differences[-1]))
    n = len(differences)
    if n > 1:
        return PairTest(paired_p(differences, scale), effect_size(differences, scale), n, n)
    one, two = seed_means(row), seed_means(best)
    (mean, sd), (best_mean, best_sd) = moments(one), moments(two)
    error = math.hypot(sd, best_sd)
    effect = (mean - best_mean) / error if error else 0.0
    return PairTest(welch_p(one, two), effect, 0, min(len(one), len(two)))
