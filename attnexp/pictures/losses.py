"""Pictures of training."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from attnexp.pictures.canvas import line_styles, new_figure, plot_axes
from attnexp.pictures.stored import StoredRun

LOG_FROM = 10.0
"""Largest over smallest value from which a logarithmic axis shows more."""


def loss_columns(run: StoredRun) -> list[str]:
    """The columns of metrics.csv that are losses."""
    return [name for name in run.metrics if name == "loss" or name.endswith("_loss")]


def draw_losses(run: StoredRun) -> Figure:
    """Every loss of the run against the epoch."""
    figure = new_figure(5.6, 3.4, run.title, run.primary)
    axes = plot_axes(figure)
    columns = loss_columns(run)
    epochs = run.metrics["epoch"]
    for name, look in zip(columns, line_styles(len(columns)), strict=True):
        axes.plot(epochs, run.metrics[name], linewidth=1.8, label=words(name), **look)
    choose_scale(axes, np.concatenate([run.metrics[name] for name in columns]))
    axes.set_xlabel("epoch")
    axes.set_ylabel(words(columns[0]) if len(columns) == 1 else "loss")
    axes.margins(x=0.02)
    if len(columns) > 1:
        axes.legend(loc="best")
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
