"""The order of rows."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd

from attnexp.runs.frame import Frame
from attnexp.runs.names import meant


def sort_runs(frame: Frame, by: str | None) -> Frame:
    """Return the runs in order of a column: a metric that ranks best first, others ascending.

    A - before the name reverses the order; missing values come last either way. Without a name the
    order is that of the choices, settings and seeds.
    """
    table = frame.table
    if by is None:
        columns = [*(name for name in frame.factors if name in frame.several), "seed"]
        keys = pd.DataFrame({name: natural_ranks(table[name]) for name in columns})
        return replace(frame, table=table.loc[keys.sort_values(columns, kind="stable").index])
    reverse = by.startswith("-")
    column = meant(by.removeprefix("-"), list(table.columns))
    descending = (frame.better.get(column) == "higher") != reverse
    values = table[column] if column in frame.metrics else natural_ranks(table[column])
    order = values.sort_values(ascending=not descending, na_position="last", kind="stable").index
    return replace(frame, table=table.loc[order])


def natural_ranks(column: pd.Series) -> pd.Series:
    """Return the rank of each value: numbers by size, then text with the numbers in it by size."""
    codes, values = pd.factorize(column)
    order = sorted(range(len(values)), key=lambda i: natural(values[i]))
    places = np.full(len(values) + 1, np.nan)
    places[order] = range(len(values))
    return pd.Series(places[codes], index=column.index)


def natural(value: object) -> tuple[object, ...]:
    """Return a sort key that puts 2 before 10, and `v2` before `v10`."""
    if isinstance(value, int | float):
        return (0, value)
    parts = re.split(r"(\d+)", str(value))
    return (1, [(int(part), "") if part.isdecimal() else (-1, part) for part in parts])
