"""Verdicts on the rows of a table: each against the best one, by their seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations, count
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attnexp.core.language import Phrase, said
from attnexp.stats.additive import levels
from attnexp.stats.flips import flipped_p, interval
from attnexp.stats.intervals import LEVEL, ROUNDING, moments, student_reach, student_tail
from attnexp.stats.multiple import holm
from attnexp.stats.paired import Values, every_pair, in_columns, net_shares, paired
from attnexp.stats.ranks import mean_ranks
from attnexp.stats.scaled import mean, scaled
from attnexp.stats.sequential import (
    FEWEST,
    Arrivals,
    PairTest,
    PairTests,
    level_at,
    pair_tests,
)


@dataclass(frozen=True, slots=True)
class Difference:
    """How a row differs from the best: row minus best, paired by seed.

    `low` and `high` are the ends of the interval of the mean difference, which leaves out zero
    exactly if the test rejects. Of `pairs` seeds the row is better on `better` and worse on
    `worse`. `sd` is the standard deviation over the pairs, and `tests` the number of pairs of rows
    that share the level of the table. `renewed` counts reruns of seeds with other code, whose
    earlier results spent a part of the level.
    """

    mean: float
    low: float
    high: float
    better: int
    worse: int
    pairs: int
    sd: float
    tests: int
    renewed: int = 0

    def turned(self) -> "Difference":
        """Return the difference of the other row minus this one."""
        low, high = -self.high, -self.low
        better, worse = self.worse, self.better
        return replace(self, mean=-self.mean, low=low, high=high, better=better, worse=worse)


class Word(StrEnum):
    """The verdicts on a row next to another row, by default the best row of the table.

    - `BEST`: the best mean, by `levels`, of the rows with two seeds or more that no other row is
      shown to beat. Several rows may be best.
    - `WORSE`: shown to be worse, with a family-wise error rate of at most 5%. If rows beat one
      another in a circle, no row is best, and the row is worse than the row at `beaten_by`.
    - `BETTER`: shown to be better than a given row.
    - `EQUAL`: the interval of the difference lies within `equal_within`.
    - `TIED`: none of these.
    - `BOTH_SOLVE`: both means are within `equal_within` of the best value of the metric.
    - `NEITHER_LEARNS`: no seed of either learned.
    - `FEW`: the rows share too few seeds for any verdict.
    - `ONE_SEED`: the row has one seed. `ALONE`: the row shares no seed with the other row.
    - `NO_VALUE`: no run has a value.
    """

    BEST = "best"
    BETTER = "better"
    WORSE = "worse"
    EQUAL = "equal"
    TIED = "tied"
    BOTH_SOLVE = "both solve it"
    NEITHER_LEARNS = "neither learns"
    FEW = "too few seeds"
    ONE_SEED = "one seed"
    ALONE = "alone"
    NO_VALUE = "no value"


TOLD_APART = frozenset({Word.BETTER, Word.WORSE})
"""The verdicts that show a row to differ from a given row."""


ALONE = {0: Word.NO_VALUE, 1: Word.ONE_SEED}
"""The verdicts on rows without seeds and on rows of one seed."""

TURNED = {Word.BETTER: Word.WORSE, Word.WORSE: Word.BETTER}
"""The opposite of each verdict; other verdicts hold for both rows."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a row compares with the best of its table, or with a given row.

    `word` is None if the metric does not rank. `p` is adjusted for all pairs of rows, and `level`
    is the level spent up to the analysis of the verdict.
    """

    word: Word | None = None
    p: float | None = None
    level: float | None = None
    difference: Difference | None = None
    beaten_by: int | None = None

    def turned(self) -> "Standing":
        """Return the standing of the other row next to this one."""
        word = TURNED.get(self.word, self.word) if self.word else None
        return replace(self, word=word, difference=self.difference and self.difference.turned())

    def text(self, units: Phrase = "seeds") -> Phrase | None:
        """Return the word, or counts if `units` are too few: `worse on 3 of 4 seeds`."""
        if self.word is not Word.FEW or self.difference is None:
            return self.word and self.word.value
        worse, pairs = self.difference.worse, self.difference.pairs
        return said("worse on {worse} of {pairs} {units}", worse=worse, pairs=pairs, units=units)


@dataclass(frozen=True)
class Rule:
    """How rows are compared: which values are better, and the rules of a verdict.

    Differences up to `equal_within` count as equal. `parts` is the number of comparisons that share
    the level of 5%. `overlap` is n_test / n_train for splits of the same rows, and 0 if seeds are
    independent. With `ahead_by`, rows differ by `net_shares` and are ordered by `mean_ranks`, so
    that units may have unlike scales.
    """

    better: Literal["lower", "higher"]
    equal_within: float | None = None
    parts: int = 1
    overlap: float = 0.0
    ahead_by: float | None = None

    @property
    def sign(self) -> int:
        """1 if lower values are better, and else -1."""
        return 1 if self.better == "lower" else -1

    @property
    def least(self) -> int:
        """The fewest seeds at which there can be a verdict."""
        return fewest_seeds(self.parts)

    def level_at(self, seeds: int) -> float:
        """Return the level spent up to a number of seeds, or all of it for splits."""
        return (LEVEL if self.overlap else level_at(seeds)) / self.parts


def fewest_seeds(parts: int = 1) -> int:
    """Return the fewest seeds whose signs can show a difference, if `parts` share the level."""
    return next(n for n in count(FEWEST) if 2 / 2**n <= level_at(n) / parts)


def compare(rows: Sequence[Values], rule: Rule, came: Sequence[Arrivals] = ()) -> list[Standing]:
    """Compare every row with the best row, on the seeds that both have.

    The best row is selected by its results, so p-values are adjusted for all pairs of rows. If
    rows have unlike seeds, a row may beat the row with the best mean on shared seeds; the best row
    is then the next one that no row beats. `came` holds the arrivals of the runs of each row, by
    default all at one analysis.
    """
    standings = [Standing(ALONE.get(len(own), Word.ALONE)) for own in rows]
    means = _means(rows, rule)
    if len(means) < 2:
        return standings
    sign, tests = rule.sign, _every_test(rows, list(means), rule, came)

    def beater(row: int) -> int | None:
        clear = (i for i in means if i != row and tests[row, i].apart)
        return next((i for i in clear if _beats(rows[i], rows[row], sign, rule)), None)

    ordered = sorted(means, key=lambda i: sign * means[i])
    best = next((i for i in ordered if beater(i) is None), None)
    for i in means:
        if best is None:
            by = beater(i)
            assert by is not None
            test = tests[i, by]
            standings[i] = Standing(Word.WORSE, test.p, test.level, beaten_by=by)
        elif i == best:
            standings[i] = Standing(Word.BEST)
        else:
            to_best = list(paired(rows[i], rows[best], rule.ahead_by).values())
            found = _standing_of(to_best, tests[i, best], sign, rule, math.comb(len(means), 2))
            same = equal_means(means[i], means[best]) and beater(i) is None
            standings[i] = replace(found, word=Word.BEST) if same else found
    return standings


def beside(
    rows: Sequence[Values], other: int, rule: Rule, came: Sequence[Arrivals] = ()
) -> list[Standing]:
    """Compare every row with the row at `other`, with p-values adjusted for all pairs of rows.

    The row itself has no word.
    """
    means = _means(rows, rule)
    standings = [Standing(ALONE.get(min(len(own), len(rows[other])), Word.ALONE)) for own in rows]
    standings[other] = Standing()
    if other in means and len(means) > 1:
        tests = _every_test(rows, list(means), rule, came)
        for i in means.keys() - {other}:
            apart = list(paired(rows[i], rows[other], rule.ahead_by).values())
            found = _standing_of(apart, tests[i, other], rule.sign, rule, math.comb(len(means), 2))
            standings[i] = _with_better(found, tests[i, other], rule.sign)
    return standings


def _means(rows: Sequence[Values], rule: Rule) -> dict[int, float]:
    """Return the mean, or mean rank, of the rows with two seeds or more that have one."""
    several = [i for i, own in enumerate(rows) if len(own) > 1]
    own = [rows[i] for i in several]
    found = levels(own) if rule.ahead_by is None else mean_ranks(own, rule.ahead_by)
    return {i: mean for i, mean in zip(several, found, strict=True) if mean is not None}


def _every_test(
    rows: Sequence[Values], able: Sequence[int], rule: Rule, came: Sequence[Arrivals]
) -> dict[tuple[int, int], PairTest]:
    """Return the test of every two of the rows `able`, under the keys (i, j) and (j, i)."""
    ends = list(combinations(range(len(able)), 2))
    compared = [rows[i] for i in able]
    if rule.ahead_by is None:
        seeds, differences = every_pair(compared)
    else:
        seeds, differences = net_shares(compared, rule.ahead_by)
    tests = _tests(seeds, differences, ends, [came[i] for i in able] if came else [], rule)
    found = {(able[i], able[j]): test for (i, j), test in zip(ends, tests.each(), strict=True)}
    return found | {(other, one): test for (one, other), test in found.items()}


def _with_better(standing: Standing, test: PairTest, sign: int) -> Standing:
    """Return the standing, as `BETTER` if the test shows that the row is ahead."""
    ahead = standing.difference is not None and sign * standing.difference.mean < 0
    better = standing.word is Word.TIED and test.apart and ahead
    return replace(standing, word=Word.BETTER) if better else standing


def _beats(row: Values, other: Values, sign: int, rule: Rule) -> bool:
    """Return whether a row is ahead of another, and shares enough seeds for a verdict."""
    apart = paired(row, other, rule.ahead_by)
    return len(apart) >= rule.least and sign * mean(apart.values()) < 0


def equal_means(one: float, other: float) -> bool:
    """Return whether two means are the same but for rounding."""
    return abs(one - other) <= ROUNDING * max(abs(one), abs(other))


def against(
    reference: Values, rows: Sequence[Values], rule: Rule, came: Sequence[Arrivals] = ()
) -> list[Standing]:
    """Compare every row with a reference that was not chosen by its results.

    The p-values are adjusted for all rows. A row may also be `BETTER`. `came` holds the arrivals of
    the runs of the reference, then those of each row, by default all at one analysis.
    """
    pairs = [paired(row, reference) for row in rows]
    if any(min(len(row), len(reference)) < 2 for row in rows):
        return [Standing(Word.ONE_SEED) for _ in rows]
    able = [i for i, pair in enumerate(pairs) if pair]
    standings = [Standing(Word.ALONE) for _ in rows]
    if not able:
        return standings
    seeds, differences = in_columns([pairs[i] for i in able])
    tests = _tests(seeds, differences, [(0, i + 1) for i in able] if came else [], came, rule)
    for i, test in zip(able, tests.each(), strict=True):
        found = _standing_of(list(pairs[i].values()), test, rule.sign, rule, len(able))
        standings[i] = _with_better(found, test, rule.sign)
    return standings


def _tests(
    seeds: Sequence[int],
    differences: NDArray[np.float64],
    ends: Sequence[tuple[int, int]],
    came: Sequence[Arrivals],
    rule: Rule,
) -> PairTests:
    """Return the tests of pairs by their differences, (seeds, pairs).

    Tests are sign flip tests, or corrected t tests for splits.
    """
    if not rule.overlap:
        return pair_tests(seeds, differences, ends, came, rule.parts)
    p = np.array(holm([_corrected_p(own[~np.isnan(own)], rule.overlap) for own in differences.T]))
    return PairTests(p, p, np.full(len(p), rule.level_at(len(seeds))))


def _standing_of(
    differences: Sequence[float], test: PairTest, sign: int, rule: Rule, tests: int
) -> Standing:
    """Return the standing of a row, by its differences from another row and their test."""
    n = len(differences)
    if not n:
        return Standing(Word.ALONE)
    middle = mean(differences)
    own = _corrected_p(differences, rule.overlap) if rule.overlap else flipped_p(differences)
    # The interval is at the level of this pair alone at which the table would tell it apart.
    level = test.later or (test.left or LEVEL / rule.parts) * min(1.0, own / test.share)
    if n < 2:
        low, high = -math.inf, math.inf
    elif rule.overlap or n < rule.least:
        reach = student_reach(differences, level, rule.overlap)
        low, high = middle - reach, middle + reach
    else:
        # where this level is beyond so few seeds, between the extremes, and to 0 at the least
        low, high = interval(differences, max(level, 2 / 2**n))
        if not test.apart:
            low, high = min(low, 0.0), max(high, 0.0)
        elif middle > 0:
            low = max(low, 0.0)
        else:
            high = min(high, 0.0)
    difference = Difference(
        mean=middle,
        low=low,
        high=high,
        better=sum(sign * d < 0 for d in differences),
        worse=sum(sign * d > 0 for d in differences),
        pairs=n,
        sd=moments(differences)[1] if n > 1 else 0.0,
        tests=tests,
        renewed=test.renewed,
    )
    word = _word(difference, test.apart, sign, rule)
    return Standing(word, test.p, test.level, difference)


def _word(difference: Difference, apart: bool, sign: int, rule: Rule) -> Word:
    within = rule.equal_within
    if difference.pairs < rule.least:
        return Word.FEW
    if within is not None and -within <= difference.low and difference.high <= within:
        return Word.EQUAL
    if apart and sign * difference.mean > 0:
        return Word.WORSE
    return Word.TIED


def _corrected_p(differences: Sequence[float], overlap: float) -> float:
    """Return the p-value of t = mean / (sd sqrt(1/n + overlap)) (Nadeau and Bengio 2003)."""
    n = len(differences)
    if n < 2:
        return 1.0
    middle, sd = moments(scaled(differences)[0])
    if not sd:
        return 0.5 ** (n - 1) if middle else 1.0
    return student_tail(abs(middle) / (sd * math.sqrt(1 / n + overlap)), n - 1)
