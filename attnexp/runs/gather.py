"""Gathers runs into the rows of a table: one row a configuration, its seeds together."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnexp.runs.configurations import without_repeats
from attnexp.runs.frame import Frame, codes

Values = dict[int, dict[int, float]]
"""A metric by seed and, within a seed, by what else was set."""

MISSING = "missing"
LOST = ("failed", "interrupted", "died", "running", MISSING)
"""Why a run has no result; `missing` is a seed that other rows have and this one was not run at."""


@dataclass(frozen=True)
class Row:
    """Runs that agree in everything that a table is divided by.

    `labels` is what they agree in, `index` their places in the frame, `lost` how many of them have
    no result. Rows are compared with each other where their `panel` is the same.
    """

    labels: dict[str, Any]
    panel: tuple[Any, ...]
    index: NDArray[np.int64]
    lost: dict[str, int]


@dataclass(frozen=True)
class Gathered:
    """Rows, and what differs within them besides the seed.

    `repeats` counts runs that stand aside for a newer run of the same settings and seed: counting
    both would count one seed twice. For each run there is its seed, its block, and a number that
    stands for all its settings.
    """

    frame: Frame
    rows: list[Row]
    within: list[str]
    repeats: int
    seeds: NDArray[Any]
    blocks: NDArray[np.int64]
    settings: NDArray[np.int64]

    def values(self, row: Row, metric: str) -> Values:
        """What was measured, by seed and by block; runs that agree in both are averaged.

        A block is one setting of everything that differs within rows, apart from what belongs to
        the choices that the rows stand for.
        """
        measured = self._measured(metric)
        found: dict[int, dict[int, list[float]]] = {}
        for i in row.index[np.isfinite(measured[row.index])]:
            seed = found.setdefault(self.seeds[i], {})
            seed.setdefault(int(self.blocks[i]), []).append(float(measured[i]))
        return {
            seed: {block: sum(values) / len(values) for block, values in blocks.items()}
            for seed, blocks in found.items()
        }

    @cached_property
    def _columns(self) -> dict[str, NDArray[np.float64]]:
        return {}

    def _measured(self, metric: str) -> NDArray[np.float64]:
        """A metric of the finished runs, NaN for others."""
        if metric not in self._columns:
            finished = self.frame.column("status") == "finished"
            self._columns[metric] = np.where(finished, self.frame.column(metric), np.nan)
        return self._columns[metric]


def gather(
    frame: Frame, by: Sequence[str], differing: Sequence[str], apart: Sequence[str] = ()
) -> Gathered:
    """One row for each combination of the columns in `by` that occurs, in order of appearance.

    `differing` is what tells the runs apart besides the seed. Rows that differ in data or in a
    column of `apart` are not compared with each other.
    """
    frame, repeats = without_repeats(frame)
    table = frame.table
    groups = codes(table, by)
    within = [name for name in differing if name not in by]
    shared = [name for name in within if name.partition(".")[0] not in by]
    blocks = codes(table, shared)
    seeds = frame.column("seed")
    order = np.argsort(groups, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    parts.sort(key=lambda part: part[0])
    rows = []
    for part in parts:
        labels = {name: frame.column(name)[part[0]] for name in by}
        panel = tuple(value for name, value in labels.items() if is_data(name) or name in apart)
        rows.append(Row(labels, panel, part, {}))
    rows = _with_lost(frame, rows, seeds, blocks)
    return Gathered(frame, rows, within, repeats, seeds, blocks, codes(table, differing))


def panels(rows: Sequence[Row]) -> list[list[Row]]:
    """The rows in portions that are compared with each other."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(row.panel, []).append(row)
    return list(found.values())


def is_data(name: str) -> bool:
    """Whether a column says which data a run saw."""
    return name.partition(".")[0] == "data"


def _with_lost(
    frame: Frame, rows: list[Row], seeds: NDArray[Any], blocks: NDArray[np.int64]
) -> list[Row]:
    status = frame.column("status")
    wanted: dict[tuple[Any, ...], set[int]] = {}
    for row in rows:
        wanted.setdefault(row.panel, set()).update(seeds[row.index])
    counted = []
    for row in rows:
        there = set(zip(seeds[row.index], blocks[row.index], strict=True))
        settings = {block for _, block in there}
        lost = {state: int((status[row.index] == state).sum()) for state in LOST[:-1]}
        lost[MISSING] = len(wanted[row.panel]) * len(settings) - len(there)
        counted.append(replace(row, lost=lost))
    return counted
