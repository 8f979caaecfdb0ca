"""The order of rows."""

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnexp.core.errors import RequestError, choices_text
from attnexp.select.frame import Frame
from attnexp.select.names import resolve_name

if TYPE_CHECKING:
    import pandas as pd

UNRANKED = "--top: no run has a result"


def sort_runs(frame: Frame, by: str | None) -> Frame:
    """Return the runs in order of a column: a metric that ranks best first, others ascending.

    A - before the name reverses the order; missing values come last either way. Without a name,
    runs are in order of choices, settings and seed.
    """
    if by is None:
        names = [*(name for name in frame.factors if name in frame.several), "seed"]
        ranks = [natural_ranks(frame.data[name]) for name in names]
        return frame.only(np.lexsort(ranks[::-1]))
    reverse = by.startswith("-")
    name = resolve_name(by.removeprefix("-"), frame.names)
    descending = (frame.better.get(name) == "higher") != reverse
    column = frame.data[name]
    values = column if name in frame.metrics else natural_ranks(column)
    return frame.only(np.argsort(-values if descending else values, kind="stable"))


def ranking(metrics: Sequence[str], sort: str | None, better: Collection[str]) -> str:
    """Return the metric by which `--top` ranks: `sort` if it is one that ranks, or else the first.

    Raises RequestError if the first is not in `better`: if it does not rank.
    """
    chosen = sort if sort and sort in metrics and sort in better else metrics[0]
    if chosen not in better:
        others = f": choose {choices_text(better)}" if better else ""
        raise RequestError(f"--top: {chosen} describes and does not rank{others}")
    return chosen


def natural_ranks(values: "Sequence[Any] | pd.Series[Any]") -> NDArray[np.float64]:
    """Return the rank of each value in the order of `natural`; NaN for a missing value."""
    known = (value for value in dict.fromkeys(values) if value is not None)
    ranks = {value: float(i) for i, value in enumerate(sorted(known, key=natural))}
    return np.array([ranks.get(value, np.nan) for value in values])


def natural(value: object) -> tuple[object, ...]:
    """Return a sort key that puts 2 before 10, `v2` before `v10`, and numbers before text."""
    if isinstance(value, int | float):
        return (0, value)
    parts = re.split(r"(\d+)", str(value))
    return (1, [(int(part), "") if part.isdecimal() else (-1, part) for part in parts])
