"""The verdict on two rows: first by the seeds that learned, then by the means."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from attnexp.select.sample import Sample
from attnexp.stats.compare import TOLD_APART, Difference, Standing, Word
from attnexp.stats.exact import fisher
from attnexp.stats.intervals import LEVEL

NEAR = 1 / 3
"""The distance from chance, or from solved, within which a seed failed, or learned: a share of the
way between them."""

UNDECIDED = (None, Word.FEW, Word.ONE_SEED, Word.ALONE)
"""The words of rows that share too few seeds for a verdict."""


@dataclass(frozen=True)
class Modes:
    """The values of the seeds that learned, and of the seeds that failed."""

    learned: Sequence[float]
    failed: Sequence[float]

    @property
    def n(self) -> int:
        """The number of seeds."""
        return len(self.learned) + len(self.failed)

    @property
    def are_two(self) -> bool:
        """Whether there are seeds of both kinds."""
        return bool(self.learned and self.failed)

    def __str__(self) -> str:
        return f"{len(self.learned)} of {self.n}"

    def p_against(self, other: "Modes") -> float:
        """Return p of Fisher's exact test of the shares of seeds that learned."""
        return fisher(len(self.learned), self.n, len(other.learned), other.n)


@dataclass(frozen=True)
class Judgement:
    """The verdict on a row next to another one.

    - `word` is BETTER, WORSE, EQUAL, TIED, BOTH_SOLVE, NEITHER_LEARNS or FEW.
    - `because` gives the shares of seeds that learned, if they decided; else it is empty.
    - `difference` is that of the means, row minus other; None if they cannot be compared.
    """

    word: Word
    because: str = ""
    difference: Difference | None = None


def judge(
    row: Sample,
    other: Sample,
    standing: Standing,
    equal_within: float,
    level: float = LEVEL,
) -> Judgement:
    """Return the verdict on a row next to another one.

    If Fisher's exact test shows at `level` that seeds of one row learn more often, that decides.
    Else `standing` does, the comparison of the means, except that rows without a seed that learned
    are NEITHER_LEARNS unless one is better, and rows with means within `equal_within` of the best
    value are BOTH_SOLVE.
    """
    found, one, two = standing.difference, modes_of(row), modes_of(other)
    if one and two and (p := one.p_against(two)) <= level:
        more = len(one.learned) * two.n > len(two.learned) * one.n
        because = f"{one} and {two} seeds learned, p = {p:.2g}"
        return Judgement(Word.BETTER if more else Word.WORSE, because, found)
    failed = one and two and not one.learned and not two.learned
    if failed and standing.word not in TOLD_APART:
        return Judgement(Word.NEITHER_LEARNS, difference=found)
    if standing.word in UNDECIDED:
        return Judgement(Word.FEW, difference=found)
    if all(sample.solves(equal_within) for sample in (row, other)):
        return Judgement(Word.BOTH_SOLVE, difference=found)
    assert standing.word is not None
    return Judgement(standing.word, difference=found)


def modes_of(sample: Sample | None) -> Modes | None:
    """Return the seeds of a row that learned, and the seeds that failed.

    A seed has learned in the last third of the way from chance to solved, and has failed in the
    first third, or if its run diverged. Solved is the better end of the range of the metric's unit:
    1 for shares, 0 for errors. Chance is declared by the metric: guessed answers, or the mean of
    the targets. None if a seed is in between, and for a metric without chance or a finite best
    value.
    """
    if sample is None or sample.better is None:
        return None
    solved = sample.best
    chance = sample.companions.get("chance", 0.0 if sample.better == "higher" else None)
    if chance is None or chance == solved or not math.isfinite(solved):
        return None
    by_unit = dict(zip(sample.values, sample.means, strict=True))
    way = {unit: (value - chance) / (solved - chance) for unit, value in by_unit.items()}
    way |= dict.fromkeys(sample.diverged_units & by_unit.keys(), 0.0)
    values = sorted(by_unit.values())
    learned = sorted(by_unit[unit] for unit in by_unit if way[unit] >= 1 - NEAR)
    failed = sorted(by_unit[unit] for unit in by_unit if way[unit] <= NEAR)
    return Modes(learned, failed) if len(learned) + len(failed) == len(values) > 0 else None
