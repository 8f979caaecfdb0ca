"""Verdicts that hold however often a table is looked at while seeds are added.

An interim analysis is one of all seeds so far. The analyses of a table share the level: up to n
seeds,

    level(n) = 1/32 + (0.05 - 1/32)(1 - 6/n),   0 below six seeds

is spent (Lan and DeMets 1983), so that six seeds decide as in a table of one analysis, and there is
no last analysis. The test of an analysis is that of `flips`, with the same sign vectors at all
analyses. An analysis removes the vectors with the largest z of any pair, as many as the level left
to it allows. If the vector of ones, the observed data, is among these, the pairs with a larger z
than all remaining vectors are shown to differ. Earlier analyses are computed from the current
values.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from attnexp.stats.flips import EXHAUSTIVE, TIE, sign_vectors, step_down_p
from attnexp.stats.intervals import LEVEL
from attnexp.stats.paired import Values
from attnexp.stats.scaled import factors

FEWEST = 6
"""The fewest seeds with a p-value below the level: 2 / 2^6 = 1/32."""

MOST_ANALYSES = 40
"""The most analyses of a table. Further analyses are merged into the last."""

LEAST_EXHAUSTIVE = 10
"""The number of seeds whose sign vectors are all used even in the largest table."""

STATISTICS = 2**21
"""The most values of z in a table: analyses times pairs times sign vectors."""


def level_at(seeds: int) -> float:
    """Return the level spent up to a number of seeds."""
    first = 2 / 2**FEWEST
    return first + (LEVEL - first) * (1 - FEWEST / seeds) if seeds >= FEWEST else 0.0


Arrival = tuple[str, str]
"""The time of a run and its command. The seeds of a command are one analysis."""


Arrivals = Mapping[int, Sequence[Arrival]]
"""The arrivals of the runs of a row by seed: the first run, then each that replaced a run of other
code."""


@dataclass(frozen=True)
class SeedPlace:
    """The place of a seed in a table: its analysis and turn.

    The first run of a seed has `turn` 0, and each run that replaces it with other code the next.
    """

    analysis: int
    seed: int
    turn: int = 0


def places_of(seeds: Sequence[int], rows: Sequence[Arrivals]) -> list[SeedPlace]:
    """Return the places of seeds in the order of analyses, by the arrivals of their runs by row.

    A seed counts as soon as two rows have it. The seeds of a command and turn are one analysis, at
    the time of the last of them. Runs without a command are one analysis, too.
    """
    came: dict[tuple[int, int], Arrival] = {}
    for seed in seeds:
        there = [row[seed] for row in rows if row.get(seed)]
        firsts = sorted(own[0] for own in there)
        came[seed, 0] = firsts[min(1, len(firsts) - 1)] if firsts else ("", "")
        for turn in range(1, max(map(len, there), default=0)):
            came[seed, turn] = min(own[turn] for own in there if len(own) > turn)
    ends: dict[tuple[str, int], str] = {}
    for (_, turn), (time, command) in came.items():
        ends[command, turn] = max(time, ends.get((command, turn), ""))
    analyses = {own: i for i, own in enumerate(sorted(ends, key=lambda one: (ends[one], one)))}
    last = MOST_ANALYSES - 1
    places = [SeedPlace(min(analyses[came[own][1], own[1]], last), *own) for own in came]
    return sorted(places, key=lambda place: (place.analysis, place.turn, place.seed))


def portions(rows: Sequence[Values], came: Sequence[Arrivals]) -> int:
    """Return the number of analyses at rows that have enough seeds for a verdict."""
    counts = Counter(seed for row in rows for seed in row)
    places = places_of([seed for seed in sorted(counts) if counts[seed] > 1], came)
    return len({place.analysis for place in places[FEWEST - 1 :]})


class PairTest(NamedTuple):
    """The test of a pair.

    `p` is the share of sign vectors that earlier analyses removed, plus `share`: the share of the
    other vectors with a z as large as observed, at the analysis of the verdict or else the last
    analysis. `left` is the level that this analysis may spend. A pair is `apart` if `share` is at
    most `left`. `later` is the level that the analyses after the verdict leave to this pair alone,
    for its interval over all seeds; None at the last analysis. `renewed` is the number of places
    with a turn above 0.
    """

    p: float
    share: float
    left: float
    later: float | None
    renewed: int = 0

    @property
    def apart(self) -> bool:
        """Whether the rows of the pair are shown to differ."""
        return self.share <= self.left

    @property
    def level(self) -> float:
        """The level spent up to this analysis."""
        return self.p - self.share + self.left


@dataclass(frozen=True)
class PairTests:
    """The tests of the pairs of a table, with an element for each pair: see `PairTest`."""

    p: NDArray[np.float64]
    share: NDArray[np.float64]
    left: NDArray[np.float64]
    later: Mapping[int, float] = field(default_factory=dict)
    renewed: int = 0

    @cached_property
    def apart(self) -> NDArray[np.bool_]:
        """Whether the rows of each pair are shown to differ."""
        return self.share <= self.left

    def each(self) -> list[PairTest]:
        """Return the test of each pair."""
        rows = zip(self.p.tolist(), self.share.tolist(), self.left.tolist(), strict=True)
        return [PairTest(*own, self.later.get(i), self.renewed) for i, own in enumerate(rows)]


def pair_tests(
    seeds: Sequence[int],
    differences: Float[np.ndarray, "seeds pairs"],
    ends: Sequence[tuple[int, int]] = (),
    rows: Sequence[Arrivals] = (),
    parts: int = 1,
) -> PairTests:
    """Return the tests of pairs from their differences by seed, NaN where a pair lacks a seed.

    `ends` are the two rows of each pair, and `rows` the arrivals of the runs of each row: by
    default all at one analysis. `parts` comparisons share the level. A verdict of an earlier
    analysis stays, unless the mean has the other sign now: the p-value is then 1.
    """
    places = places_of(seeds, rows)
    differences = _by_place(seeds, differences, places, ends, rows)
    analyses = np.array([place.analysis for place in places])
    counts = [*(np.flatnonzero(np.diff(analyses)) + 1).tolist(), len(places)]
    if len(counts) == 1:
        p = step_down_p(np.nan_to_num(differences))
        return PairTests(p, p, np.full(len(p), level_at(len(places)) / parts))
    levels = [level_at(count) / parts for count in counts]
    renewed = sum(place.turn > 0 for place in places)
    return replace(_Analyses(differences, counts, levels, renewed > 0).tests(), renewed=renewed)


def _by_place(
    seeds: Sequence[int],
    differences: Float[np.ndarray, "seeds pairs"],
    places: Sequence[SeedPlace],
    ends: Sequence[tuple[int, int]],
    rows: Sequence[Arrivals],
) -> Float[np.ndarray, "places pairs"]:
    """Return the differences by place: at the later of the last turns of two rows, else NaN."""
    order = {seed: i for i, seed in enumerate(seeds)}
    found = differences[[order[place.seed] for place in places]]
    if not any(place.turn for place in places):
        return found
    for pair, both in enumerate(ends):
        for i, place in enumerate(places):
            if place.turn != max(len(rows[end].get(place.seed, ((),))) for end in both) - 1:
                found[i, pair] = np.nan
    return found


class _Analyses:
    """The statistics `z` of all analyses, of shape (analyses, pairs, vectors).

    `spent` is the number of vectors that may be removed up to each analysis. With `renewed`,
    vectors that an analysis could have removed and did not are lost, as its runs have been
    replaced.
    """

    def __init__(
        self,
        differences: Float[np.ndarray, "places pairs"],
        ends: Sequence[int],
        levels: Sequence[float],
        renewed: bool,
    ) -> None:
        there, values = ~np.isnan(differences), np.nan_to_num(differences)
        values *= factors(abs(values).max(axis=0))
        exhaustive = int(math.log2(max(1.0, STATISTICS / (len(ends) * values.shape[1])))) + 1
        signs = sign_vectors(len(values), min(EXHAUSTIVE, max(LEAST_EXHAUSTIVE, exhaustive)))
        self.renewed = renewed
        self.spent = [int(level * len(signs) * (1 + TIE)) for level in levels]
        self.ahead = np.sign([values[:end].sum(axis=0) for end in ends])
        self.z = np.empty((len(ends), values.shape[1], len(signs)))
        sums = np.zeros(self.z.shape[1:])
        for analysis, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
            sums += values[start:end].T @ signs[:, start:end].T
            norm = np.linalg.norm(values[:end], axis=0)[:, None]
            self.z[analysis] = np.abs(sums) / np.where(norm > 0, norm, 1.0)
            self.z[analysis, ~there[:end].any(axis=0)] = -np.inf

    def tests(self) -> PairTests:
        """Return the tests. After each verdict, all analyses are repeated with the other pairs."""
        _, pairs, vectors = self.z.shape
        p, share, left = np.ones(pairs), np.ones(pairs), np.zeros(pairs)
        later: dict[int, float] = {}
        undecided, least = np.ones(pairs, bool), 0.0
        while undecided.any():
            analysis, out, spendable, bound = self._first_verdict(undecided)
            seen = self.z[analysis, :, 0]
            largest = np.where(out, -np.inf, self.z[analysis, undecided].max(axis=0))
            clear = np.flatnonzero(undecided & (seen > bound))
            for pair in clear[np.argsort(-seen[clear], kind="stable")].tolist():
                undecided[pair] = False
                if self.ahead[analysis, pair] * self.ahead[-1, pair] < 0:
                    continue
                share[pair] = np.count_nonzero(largest >= seen[pair] * (1 - TIE)) / vectors
                left[pair] = spendable / vectors
                p[pair] = least = max(least, float(out.mean() + share[pair]))
                if further := self.spent[-1] - self.spent[analysis]:
                    alone = np.mean(~out & (self.z[analysis, pair] >= seen[pair] * (1 - TIE)))
                    later[pair] = further / vectors * float(alone / share[pair])
        return PairTests(p, share, left, later)

    def _first_verdict(self, pairs: NDArray[np.bool_]) -> tuple[int, NDArray[np.bool_], int, float]:
        """Return the first analysis that shows one of these pairs to differ, or else the last one.

        Also returns which vectors earlier analyses removed, how many this analysis may remove, and
        the bound that z of a pair has to exceed: -inf if no analysis has a verdict.
        """
        out = np.zeros(self.z.shape[2], bool)
        analysis = before = spendable = 0
        gone = out
        for analysis, spent in enumerate(self.spent):
            out = out | gone
            spendable = max(0, spent - max(before, int(out.sum())))
            largest = np.where(out, -np.inf, self.z[analysis, pairs].max(axis=0))
            bound = float(np.partition(largest, -spendable - 1)[-spendable - 1]) * (1 + TIE)
            gone = (largest > bound) & (bound >= 0)
            if gone[0]:
                return analysis, out, spendable, bound
            before = spent if self.renewed else 0
        return analysis, out, spendable, -np.inf
