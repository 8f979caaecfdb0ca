"""Charts that trackers export as CSV: their columns are curves, and a line is a step."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from attnexp.core.errors import RequestError
from attnexp.imported.outside import EXACT, OutsideRun, number_in
from attnexp.runs.settings import clean

TENSORBOARD = ("Wall time", "Step", "Value")

LEAST, MOST, BETWEEN = "__MIN", "__MAX", " - "
"""The ends of names of columns in a chart of wandb, and the text between a run and its metric."""


def is_chart(header: Sequence[str]) -> bool:
    """Return whether a header is that of a chart and not that of a table of runs."""
    return tuple(header) == TENSORBOARD or bool(_curves(header))


@dataclass
class _Chart:
    """The points of a run, and the last value of each of its metrics."""

    points: dict[float, dict[str, float]] = field(default_factory=dict)
    last: dict[str, float] = field(default_factory=dict)

    def run(self, path: Path, name: str) -> OutsideRun:
        """Return the run of this name. A single point is no curve."""
        rows = [{**values, "epoch": step} for step, values in sorted(self.points.items())]
        return OutsideRun(
            source=f"the curve of {clean(name)} in {clean(path.name)}",
            identity=f"{path.resolve()}\0{name}",
            name=name,
            settings={},
            metrics=self.last,
            epochs=rows[len(rows) == 1 :],
            last_step=max(self.points, default=None),
        )


def runs_of(
    path: Path, header: Sequence[str], rows: Iterable[tuple[int, Sequence[str]]]
) -> list[OutsideRun]:
    """Return a run per name in a chart of wandb: its curves, and their last values.

    A metric whose name begins with `_` is the tool's own, and is left out.

    Raises RequestError for a curve of TensorBoard, which does not name its run, for a curve that
    goes back, for a value between a smaller and a larger one, a mean over runs or steps, and for a
    cell that is not a number.
    """
    if tuple(header) == TENSORBOARD:
        raise RequestError(
            f"{path} is one curve that TensorBoard exported, without the name of its run: "
            "`attnexp docs outside` has the lines that make a table of event files"
        )
    if twice := next((name for name in header if header.count(name) > 1), None):
        raise RequestError(f"{path}, line 1: {header.count(twice)} runs are named '{twice}'")
    charts: dict[str, _Chart] = {}
    reached: dict[str, float] = {}
    curves = _curves(header)
    for line, row in rows:
        cells = dict(zip(header, row, strict=True))
        at = f"{path}, line {line}: "
        step = number_in(cells[header[0]], at + header[0])
        if not abs(step) < EXACT:
            raise RequestError(f"{at}{header[0]} is {cells[header[0]]!r:.60}")
        for column, (name, metric) in curves.items():
            if not cells[column].strip():
                continue
            value = _value(cells, column, at + column)
            if step < reached.setdefault(column, step):
                raise RequestError(
                    f"{at + column} goes back from {header[0]} {reached[column]:g} to {step:g}: "
                    "keep the lines of one training"
                )
            reached[column] = step
            chart = charts.setdefault(name, _Chart())
            if not metric.startswith("_"):
                chart.points.setdefault(step, {})[metric] = chart.last[metric] = value
    return [chart.run(path, name) for name, chart in charts.items()]


def _value(cells: Mapping[str, str], column: str, where: str) -> float:
    """Return the number in a cell. Raises RequestError for none, and for a mean of others."""
    value = number_in(cells[column], where)
    bounds = [cells[column + end] for end in (LEAST, MOST) if cells[column + end].strip()]
    if any(number_in(bound, where) != value for bound in bounds if not math.isnan(value)):
        raise RequestError(
            f"{where} is a mean of {' to '.join(bounds)}, over runs or steps: export the "
            "table of runs, or a chart without groups"
        )
    return value


def _curves(header: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Return the run and the metric of each column of a chart of wandb, none for another table."""
    names = {*header}
    return {
        column: (run, metric)
        for column in header[1:]
        if {column + LEAST, column + MOST} <= names
        for run, between, metric in [column.rpartition(BETWEEN)]
        if between
    }
