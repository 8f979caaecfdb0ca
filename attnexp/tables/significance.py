"""Verdicts on the rows of a table: each against the best one, by their seeds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean
from typing import Literal

import numpy as np
from jaxtyping import Float

from attnexp.tables.sign_flips import flipped_p, interval, step_down_p
from attnexp.tables.statistics import ROUNDING, moments, student_quantile, student_tail

Values = dict[int, dict[int, float]]
"""A metric by seed and, within a seed, by the other settings."""

LEVEL = 0.05
"""The chance that a table calls any row worse although none differs."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How a row differs from the best: row minus best, paired by seed.

    `low` and `high` are the ends of the interval of the mean difference, which leaves out zero
    exactly where the test rejects. `better` of the `pairs` seeds are those on which the row is
    ahead. `sd` is the standard deviation over the pairs, and `level` the one at which the row was
    tested, which is smaller the more rows are compared.
    """

    mean: float
    low: float
    high: float
    better: int
    worse: int
    pairs: int
    sd: float
    level: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a row compares with the best of its table.

    `standing` is one of:

    - `best`: the best mean of the rows with two seeds or more, which several rows may have.
    - `equal`: the interval of the difference lies within what was said to be equal.
    - `worse`: shown to be worse, with a chance of at most 5% that the table says so of any row
      although none differs.
    - `tied`: neither.
    - `worse on 3 of 3 seeds`: what was seen, where no result of so few seeds is a verdict.
    - `one seed`: not comparable, however good. `alone`: there is nothing to compare with.
    - None: the metric does not rank.

    `p` is adjusted for all pairs of rows.
    """

    standing: str | None = None
    p: float | None = None
    difference: Difference | None = None


@dataclass(frozen=True)
class Rule:
    """How rows are compared: which values are better, and what counts as a verdict.

    Differences up to `equal_within` count as equal. `looks` is the number of planned interim looks
    while seeds are added, each at its part of the 5%. `overlap` is n_test /
    n_train if the values are of splits of the same rows, and 0 if seeds are independent. `units`
    names the values that are paired.
    """

    better: Literal["lower", "higher"]
    equal_within: float | None = None
    looks: int = 1
    overlap: float = 0.0
    units: str = "seeds"

    @property
    def level(self) -> float:
        """The level of one look."""
        return LEVEL / self.looks

    @property
    def least(self) -> int:
        """The fewest seeds at which there can be a verdict."""
        return fewest_seeds(self.level)


def fewest_seeds(level: float) -> int:
    """Return the fewest seeds whose signs can have a p-value of at most a level."""
    return math.ceil(1 - math.log2(level))


def compare(rows: Sequence[Values], rule: Rule) -> list[Verdict]:
    """Compare every row with the best one.

    The best row is picked because it looks best, so the p-values are adjusted for all pairs of
    rows.
    """
    means = [seed_means(values) for values in rows]
    able = [i for i, own in enumerate(means) if len(own) > 1]
    if len(able) < 2:
        names = {0: "no value", 1: "one seed"}
        return [Verdict(names.get(len(own), "alone")) for own in means]
    sign = 1 if rule.better == "lower" else -1
    best = min(able, key=lambda i: sign * fmean(means[i]))
    compared = [rows[i] for i in able]
    adjusted = np.zeros((len(rows), len(rows)))
    adjusted[tuple(np.array(able)[end] for end in np.triu_indices(len(able), 1))] = (
        _adjusted([paired(one, other) for one, other in combinations(compared, 2)], rule)
        if rule.overlap
        else step_down_p(every_pair(compared))
    )
    verdicts = [Verdict("one seed" if own else "no value") for own in means]
    verdicts[best] = Verdict("best")
    for i in able:
        if i != best:
            to_best = list(paired(rows[i], rows[best]).values())
            p = float(adjusted[min(i, best), max(i, best)])
            found = _verdict(to_best, p, sign, rule)
            same = _same(fmean(means[i]), fmean(means[best]))
            verdicts[i] = replace(found, standing="best") if same else found
    return verdicts


def _same(one: float, other: float) -> bool:
    """Return whether two means are the same but for rounding."""
    return abs(one - other) <= ROUNDING * max(abs(one), abs(other))


def against(reference: Values, rows: Sequence[Values], rule: Rule) -> list[Verdict]:
    """Compare every row with a reference that was chosen before, and not for its results.

    The p-values are adjusted for all rows. A row may then also be `better`.
    """
    pairs = [paired(row, reference) for row in rows]
    if any(len(pair) < 2 for pair in pairs):
        return [Verdict("one seed") for _ in rows]
    sign = 1 if rule.better == "lower" else -1
    verdicts = []
    for pair, p in zip(pairs, _adjusted(pairs, rule), strict=True):
        found = _verdict(list(pair.values()), p, sign, rule)
        assert found.difference is not None
        ahead = sign * found.difference.mean < 0
        if found.standing == "tied" and p <= rule.level and ahead:
            found = replace(found, standing="better")
        verdicts.append(found)
    return verdicts


def seed_means(values: Values) -> list[float]:
    """Return one number per seed: seeds are the independent units."""
    return [fmean(blocks.values()) for blocks in values.values()]


def paired(row: Values, other: Values) -> dict[object, float]:
    """Return the differences of two rows, by seed and within it by block.

    Where they share fewer than two seeds, seeds are paired in ascending order. Differences that are
    nothing but the rounding of the numbers that were subtracted are 0.
    """
    found: dict[object, list[tuple[float, float]]] = {}
    for seed in sorted(row.keys() & other.keys()):
        blocks = row[seed].keys() & other[seed].keys()
        if blocks:
            found[seed] = [(row[seed][block], other[seed][block]) for block in blocks]
    if len(found) < 2:
        ordered = (seed_means(dict(sorted(values.items()))) for values in (row, other))
        found = {("place", i): [both] for i, both in enumerate(zip(*ordered, strict=False))}
    differences = {seed: fmean(a - b for a, b in both) for seed, both in found.items()}
    scale = max(abs(number) for both in found.values() for each in both for number in each)
    return {seed: d if abs(d) > ROUNDING * scale else 0.0 for seed, d in differences.items()}


def every_pair(rows: Sequence[Values]) -> Float[np.ndarray, "seeds pairs"]:
    """Return the differences of every two rows, of two or more, as `paired` finds them.

    Pairs are in the order of `itertools.combinations`. A pair has 0 for a seed that it lacks. Pairs
    that share fewer than two seeds have lines of their own below the others, one for each place.
    """
    blocks = sorted({(seed, block) for row in rows for seed, own in row.items() for block in own})
    values = np.array([[row.get(s, {}).get(b, np.nan) for s, b in blocks] for row in rows])
    _, starts = np.unique([seed for seed, _ in blocks], return_index=True)
    seeds, places = len(starts), max(map(len, rows))
    found = np.full((seeds + places, math.comb(len(rows), 2)), np.nan)
    end = 0
    for i, own in enumerate(values[:-1]):
        others = values[i + 1 :]
        first, end = end, end + len(others)
        apart = own - others
        both = ~np.isnan(apart)
        shared = np.add.reduceat(both, starts, axis=1, dtype=int)
        sums = np.add.reduceat(np.where(both, apart, 0.0), starts, axis=1)
        means = np.divide(sums, shared, out=np.full(sums.shape, np.nan), where=shared > 0)
        scale = np.where(both, np.maximum(abs(own), abs(others)), 0.0).max(axis=1, keepdims=True)
        means[abs(means) <= ROUNDING * scale] = 0.0
        found[:seeds, first:end] = means.T
        for j in np.flatnonzero((shared > 0).sum(axis=1) < 2).tolist():
            by_place = list(paired(rows[i], rows[i + 1 + j]).values())
            found[:, first + j] = np.nan
            found[seeds : seeds + len(by_place), first + j] = by_place
    there = ~np.isnan(found)
    # Signs that are drawn belong to seeds in the order in which the pairs name them.
    order = np.argsort(there.argmax(axis=1), kind="stable")
    return np.nan_to_num(found[order[there[order].any(axis=1)]])


def _adjusted(pairs: Sequence[Mapping[object, float]], rule: Rule) -> list[float]:
    """Return the p-value of each pair, adjusted for all of them."""
    if rule.overlap:
        return _holm([_corrected_p(list(pair.values()), rule.overlap) for pair in pairs])
    seeds = list(dict.fromkeys(seed for pair in pairs for seed in pair))
    matrix = np.array([[pair.get(seed, 0.0) for pair in pairs] for seed in seeds])
    return [float(p) for p in step_down_p(matrix)]


def _verdict(differences: Sequence[float], p: float, sign: int, rule: Rule) -> Verdict:
    """Return the verdict on a row by its differences from the best, with the adjusted p-value."""
    n, mean = len(differences), fmean(differences)
    own = _corrected_p(differences, rule.overlap) if rule.overlap else flipped_p(differences)
    # The interval is at the level at which the adjusted p-value is compared with that of the table.
    level = rule.level * min(1.0, own / p) if p else rule.level
    if rule.overlap or n < rule.least:
        reach = student_reach(differences, level, rule.overlap)
        low, high = mean - reach, mean + reach
    else:
        # where this level is beyond so few seeds, between the extremes, and to 0 at the least
        low, high = interval(differences, max(level, 2 / 2**n))
        if p > rule.level:
            low, high = min(low, 0.0), max(high, 0.0)
    difference = Difference(
        mean=mean,
        low=low,
        high=high,
        better=sum(sign * d < 0 for d in differences),
        worse=sum(sign * d > 0 for d in differences),
        pairs=n,
        sd=moments(differences)[1] if n > 1 else 0.0,
        level=level,
    )
    return Verdict(_standing(difference, p, sign, rule), p, difference)


def _standing(difference: Difference, p: float, sign: int, rule: Rule) -> str:
    within = rule.equal_within
    if difference.pairs < rule.least:
        return f"worse on {difference.worse} of {difference.pairs} {rule.units}"
    if within is not None and -within <= difference.low and difference.high <= within:
        return "equal"
    if p <= rule.level and sign * difference.mean > 0:
        return "worse"
    return "tied"


def student_reach(values: Sequence[float], level: float, overlap: float) -> float:
    """Return half the width of Student's interval of a mean.

    Splits of the same rows are not independent: 1/n + overlap takes the place of 1/n, where the
    overlap is n_test / n_train (Nadeau and Bengio 2003).
    """
    n = len(values)
    _, sd = moments(values)
    return student_quantile(n - 1, 1 - level) * sd * math.sqrt(1 / n + overlap)


def _corrected_p(differences: Sequence[float], overlap: float) -> float:
    """Return the p-value of the corrected resampled t test of Nadeau and Bengio."""
    n = len(differences)
    mean, sd = moments(differences)
    if not sd:
        return 0.5 ** (n - 1) if mean else 1.0
    return student_tail(abs(mean) / (sd * math.sqrt(1 / n + overlap)), n - 1)


def _holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for being these tests (Holm 1979)."""
    p = np.asarray(p_values)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    factors = len(p) - np.arange(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * p[order]))
    return [float(each) for each in adjusted]
