"""Rows compared over tasks: tasks are the units, and seeds are blocks."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from attnexp.select.sample import Sample, standings_beside
from attnexp.stats.compare import TOLD_APART, Rule, Standing, Word, beside, compare
from attnexp.stats.paired import Values
from attnexp.stats.ranks import chances, mean_ranks


@dataclass(frozen=True)
class OverTasks:
    """Rows compared over tasks, whose metrics may be unlike.

    Each of the `tasks` has samples by the number of the row, from 0 to `rows` - 1. In a task two
    rows differ by the net share (`net_shares`) of their differences by seed beyond `ahead_by`: from
    -1 to 1, whatever the metric. The sign flip test of a pair flips the net shares of tasks.
    """

    tasks: Sequence[Mapping[int, Sample]]
    rows: int
    ahead_by: float = 0.0

    @property
    def rule(self) -> Rule:
        """The rule of the comparison: lower is better."""
        return Rule("lower", ahead_by=self.ahead_by)

    @cached_property
    def values(self) -> list[Values]:
        """The values of each row by task and, within a task, by seed and block; lower is better."""
        found: list[Values] = [{} for _ in range(self.rows)]
        for place, task in enumerate(self.tasks):
            cells = {row: _cells(sample) for row, sample in task.items()}
            number = {cell: i for i, cell in enumerate(sorted(set().union(*cells.values())))}
            for row, own in cells.items():
                if own:
                    found[row][place] = {number[cell]: value for cell, value in own.items()}
        return found

    @cached_property
    def ranks(self) -> list[float | None]:
        """The mean rank of each row, by `mean_ranks`."""
        return mean_ranks(self.values, self.ahead_by)

    @cached_property
    def chances(self) -> NDArray[np.float64]:
        """The chance that a row is ahead of another on a seed of a task: see `ranks.chances`."""
        return chances(self.values, self.ahead_by)

    @cached_property
    def standings(self) -> list[Standing]:
        """How each row compares with the best row, paired by task."""
        return compare(self.values, self.rule)

    @property
    def order(self) -> list[int]:
        """The rows by their mean ranks; rows without a rank are last."""
        ranks = [math.inf if rank is None else rank for rank in self.ranks]
        return sorted(range(self.rows), key=ranks.__getitem__)

    @property
    def tied(self) -> list[tuple[int, ...]]:
        """The largest sets of rows of which no two are shown to differ, each in `order`."""
        beside = [self.beside(row) for row in range(self.rows)]
        ranked = [row for row in self.order if self.ranks[row] is not None]
        sets: list[tuple[int, ...]] = [()]
        for row in ranked:
            alike = {other for other in ranked if beside[row][other].word not in TOLD_APART}
            joined = dict.fromkeys((*(own for own in each if own in alike), row) for each in sets)
            kept = [each for each in sets if not alike.issuperset(each)]
            sets = [*kept, *(each for each in joined if not _is_part(each, [*kept, *joined]))]
        return sorted((each for each in sets if len(each) > 1), key=self._places)

    def _places(self, rows: Sequence[int]) -> list[int]:
        return [self.order.index(row) for row in rows]

    @property
    def best(self) -> int | None:
        """The first of the best rows, None without one."""
        words = (own.word for own in self.standings)
        return next((row for row, word in enumerate(words) if word is Word.BEST), None)

    def beside(self, other: int) -> list[Standing]:
        """Return how each row compares with the row `other`, paired by task."""
        return beside(self.values, other, self.rule)

    def verdicts(self, other: int) -> list[Counter[Word]]:
        """Return, for each row, how many tasks have each verdict on the row next to `other`."""
        found: list[Counter[Word]] = [Counter() for _ in range(self.rows)]
        for task in (task for task in self.tasks if other in task):
            place = [*task].index(other)
            standings = standings_beside([*task.values()], place, self.ahead_by or None)
            for row, standing in zip(task, standings, strict=True):
                found[row].update([standing.word] if standing.word else [])
        return found


def _is_part(rows: Sequence[int], others: Sequence[Sequence[int]]) -> bool:
    """Return whether rows are a proper subset of another set."""
    return any(len(rows) < len(each) and set(rows) <= set(each) for each in others)


def _cells(sample: Sample) -> dict[tuple[int, int], float]:
    """Return the values of a sample by seed and block, with a sign by which lower is better."""
    sign = 1 if sample.better == "lower" else -1
    return {
        (unit, block): sign * value
        for unit, own in sample.values.items()
        for block, value in own.items()
    }
