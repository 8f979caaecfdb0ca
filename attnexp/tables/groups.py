"""The rows of the tables: runs gathered by what they agree in."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnexp.runs.configurations import without_repeats
from attnexp.runs.frame import Frame
from attnexp.tables.significance import Values

MISSING = "missing"
LOST = ("failed", "interrupted", "died", "running", MISSING)
"""Why a run has no result; `missing` is a seed that other rows have and this one was not run at."""

TESTED = "data.num_test"
"""The setting that says on how many examples a run was tested."""

EXAMPLES = 100
"""How many examples a share is taken to be measured on, where its runs do not say."""


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

    `repeats` is the number of runs that are left out because there is a newer run of the same
    settings and seed: counting both would count one seed twice. `seeds`, `blocks` and `settings`
    hold the seed of each run, its block, and a number that stands for all its settings.
    """

    frame: Frame
    rows: list[Row]
    within: list[str]
    repeats: int
    seeds: NDArray[Any]
    blocks: NDArray[np.int64]
    settings: NDArray[np.int64]

    def values(self, row: Row, metric: str) -> Values:
        """Return what was measured, by seed and by block; runs that agree in both are averaged.

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

    def examples(self, row: Row) -> int:
        """Return on how many examples a share of the row was measured, the fewest of its runs."""
        if TESTED not in self.frame.columns:
            return EXAMPLES
        told = [n for n in self.frame.column(TESTED)[row.index] if isinstance(n, int) and n > 0]
        return min(told, default=EXAMPLES)

    @cached_property
    def finished(self) -> NDArray[np.bool_]:
        """Whether each run has ended well."""
        finished: NDArray[np.bool_] = self.frame.column("status") == "finished"
        return finished

    @cached_property
    def _columns(self) -> dict[str, NDArray[np.float64]]:
        return {}

    def _measured(self, metric: str) -> NDArray[np.float64]:
        """Return a metric of the finished runs, NaN for others."""
        if metric not in self._columns:
            self._columns[metric] = np.where(self.finished, self.frame.column(metric), np.nan)
        return self._columns[metric]


def gather(
    frame: Frame, by: Sequence[str], differing: Sequence[str], apart: Sequence[str] = ()
) -> Gathered:
    """Return one row for each combination of the columns in `by`, in order of appearance.

    `differing` is what tells the runs apart besides the seed. Rows that differ in data or in a
    column of `apart` are not compared with each other.
    """
    frame, repeats = without_repeats(frame)
    groups = frame.codes(by)
    within = [name for name in differing if name not in by]
    shared = [name for name in within if name.partition(".")[0] not in by]
    blocks = frame.codes(shared)
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
    return Gathered(frame, rows, within, repeats, seeds, blocks, frame.codes(differing))


def panels(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the rows in portions that are compared with each other."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(row.panel, []).append(row)
    return list(found.values())


def is_data(name: str) -> bool:
    """Return whether a column says which data a run saw."""
    return name.partition(".")[0] == "data"


def is_share(frame: Frame, metric: str) -> bool:
    """Return whether a metric is a share, which lies in [0, 1].

    Its unit says so. Of a metric without a unit, as in older runs, it is so where higher is better
    and no run has a value outside [0, 1].
    """
    if metric in frame.units:
        return frame.units[metric] == "share"
    values = frame.column(metric)
    known = values[np.isfinite(values)]
    return frame.better.get(metric) == "higher" and bool(((known >= 0) & (known <= 1)).all())


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
