"""Charts that trackers export as CSV: their columns are curves, and a line is a step."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from attnexp.core.errors import RequestError
from attnexp.imported.attempts import LoggedPoint
from attnexp.imported.naming import RUN
from attnexp.imported.outside import OutsideRun, number_in
from attnexp.imported.tracked import Tracked, outside_runs
from attnexp.runs.files import is_finite
from attnexp.runs.settings import clean

TENSORBOARD = ("Wall time", "Step", "Value")

LEAST, MOST, BETWEEN = "__MIN", "__MAX", " - "
"""The ends of names of columns in a chart of wandb, and the text between a run and its metric."""


def is_chart(header: Sequence[str]) -> bool:
    """Return whether a header is that of a chart and not that of a table of runs."""
    return tuple(header) == TENSORBOARD or bool(_curves(header))


def runs_of(
    path: Path, header: Sequence[str], rows: Iterable[tuple[int, Sequence[str]]]
) -> tuple[list[OutsideRun], list[str]]:
    """Return a run per name in a chart of wandb: its curves, and their last values.

    Raises RequestError for a curve of TensorBoard, which does not name its run, for a value between
    a smaller and a larger one, a mean over runs or steps, and for a cell that is not a number.
    """
    if tuple(header) == TENSORBOARD:
        raise RequestError(
            f"{path} is one curve that TensorBoard exported, without the name of its run: import "
            "the folder of the event files, attnexp import tensorboard FOLDER"
        )
    if twice := next((name for name in header if header.count(name) > 1), None):
        raise RequestError(f"{path}, line 1: {header.count(twice)} runs are named '{twice}'")
    runs: dict[str, Tracked] = {}
    curves = _curves(header)
    for line, row in rows:
        cells = dict(zip(header, row, strict=True))
        step = number_in(cells[header[0]], f"{path}, line {line}: {header[0]}")
        if not is_finite(step):
            raise RequestError(f"{path}, line {line}: {header[0]} is {cells[header[0]]!r:.60}")
        for column, (name, metric) in curves.items():
            if not cells[column].strip():
                continue
            where = f"{path}, line {line}: {column}"
            value = number_in(cells[column], where)
            bounds = [cells[column + end] for end in (LEAST, MOST) if cells[column + end].strip()]
            if any(number_in(bound, where) != value for bound in bounds if not math.isnan(value)):
                raise RequestError(
                    f"{where} is a mean of {' to '.join(bounds)}, over runs or steps: export the "
                    "table of runs, or a chart without groups"
                )
            source = f"the curve of {clean(name)} in {clean(path.name)}"
            run = runs.setdefault(name, Tracked(source, f"{path.resolve()}\0{name}", {RUN: name}))
            run.points.append(LoggedPoint(step, {metric: value}))
    return outside_runs(runs.values())


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
