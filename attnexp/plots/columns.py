"""Columns of metrics.csv: which are losses, what they are called, how wide their values reach."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attnexp.errors import RequestError, choices_text
from attnexp.runs.run import Run

LOG_FROM = 10.0
"""Largest over smallest value from which a logarithmic axis shows more."""


OF_TRAINING = ("epoch", "step", "seconds")
"""Columns of metrics.csv that say where a row stands and not how well it went."""


def is_loss(column: str) -> bool:
    """Whether a column of metrics.csv is a loss."""
    return column == "loss" or column.endswith("_loss")


def loss_columns(run: Run) -> list[str]:
    """The columns of metrics.csv that are losses."""
    return [name for name in run.epochs if is_loss(name)]


def asked_columns(runs: Sequence[Run], metric: str | None) -> list[str]:
    """The column of metrics.csv that was asked for, or the losses of all runs that were trained.

    Raises RequestError for a column that no run has.
    """
    there = dict.fromkeys(name for run in runs for name in run.epochs if name not in OF_TRAINING)
    if metric is not None and metric not in there:
        had = f"there are {choices_text(there)}" if there else "nothing was trained"
        raise RequestError(f"no '{metric}' was written in training: {had}")
    if metric is not None:
        return [metric]
    trained = [loss_columns(run) for run in runs if loss_columns(run)]
    return [name for name in there if trained and all(name in columns for columns in trained)]


def words(column: str) -> str:
    """A column of metrics.csv in words."""
    plain = column.replace("_", " ")
    return "training loss" if plain == "loss" else re.sub("^val ", "validation ", plain)


def wants_log(columns: Sequence[str], values: NDArray[np.float64]) -> bool:
    """Whether a logarithmic axis shows more of these columns. Shares of matches stay linear."""
    return all(is_loss(name) or name == "lr" for name in columns) and spans_powers(values)


def spans_powers(values: NDArray[np.float64]) -> bool:
    """Whether values are positive and reach over more than a power of ten."""
    finite = values[np.isfinite(values)]
    if not len(finite) or finite.min() <= 0:
        return False
    return bool(finite.max() / finite.min() > LOG_FROM)
