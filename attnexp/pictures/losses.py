"""Pictures of training."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from attnexp.errors import RequestError, choices_text
from attnexp.pictures.canvas import line_styles, name_lines, new_figure, plot_axes
from attnexp.pictures.stored import StoredRun

LOG_FROM = 10.0
"""Largest over smallest value from which a logarithmic axis shows more."""


OF_TRAINING = ("epoch", "step", "seconds")
"""Columns of metrics.csv that say where a row stands and not how well it went."""


def loss_columns(run: StoredRun) -> list[str]:
    """The columns of metrics.csv that are losses."""
    return [name for name in run.metrics if name == "loss" or name.endswith("_loss")]


def asked_columns(runs: Sequence[StoredRun], metric: str | None) -> list[str]:
    """The column of metrics.csv that was asked for, or the losses of all runs that were trained.

    Raises RequestError for a column that no run has.
    """
    there = dict.fromkeys(name for run in runs for name in run.metrics if name not in OF_TRAINING)
    if metric is not None and metric not in there:
        had = f"there are {choices_text(there)}" if there else "nothing was trained"
        raise RequestError(f"no '{metric}' was written in training: {had}")
    if metric is not None:
        return [metric]
    trained = [loss_columns(run) for run in runs if loss_columns(run)]
    return [name for name in there if trained and all(name in columns for columns in trained)]


def draw_losses(run: StoredRun, columns: Sequence[str]) -> Figure:
    """Columns of metrics.csv against the epoch."""
    figure = new_figure(5.6, 3.4, run.title, run.primary)
    axes = plot_axes(figure)
    epochs = run.metrics["epoch"]
    for name, look in zip(columns, line_styles(len(columns)), strict=True):
        axes.plot(epochs, run.metrics[name], linewidth=1.8, label=words(name), **look)
    choose_scale(axes, np.concatenate([run.metrics[name] for name in columns]))
    axes.set_xlabel("epoch")
    axes.set_ylabel(words(columns[0]) if len(columns) == 1 else "loss")
    axes.margins(x=0.02)
    if len(columns) > 1:
        name_lines(axes)
    return figure


def words(column: str) -> str:
    """A column of metrics.csv in words."""
    return "training loss" if column == "loss" else column.replace("_", " ")


def choose_scale(axes: Axes, values: NDArray[np.float64]) -> None:
    """A logarithmic axis where positive values span more than a power of ten."""
    finite = values[np.isfinite(values)]
    if len(finite) and finite.min() > 0 and finite.max() / finite.min() > LOG_FROM:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
