"""Pictures of training."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from attnexp.plots.columns import wants_log, words
from attnexp.plots.style import line_styles, name_lines, new_figure, plot_axes
from attnexp.runs.run import Run


def draw_losses(run: Run, columns: Sequence[str]) -> Figure:
    """Columns of metrics.csv against the epoch."""
    figure = new_figure(5.6, 3.4, run.title, run.primary)
    axes = plot_axes(figure)
    epochs = run.epochs["epoch"]
    for name, look in zip(columns, line_styles(len(columns)), strict=True):
        axes.plot(epochs, run.epochs[name], linewidth=1.8, label=words(name), **look)
    choose_scale(axes, columns, np.concatenate([run.epochs[name] for name in columns]))
    axes.set_xlabel("epoch")
    axes.set_ylabel(words(columns[0]) if len(columns) == 1 else "loss")
    axes.margins(x=0.02)
    if len(columns) > 1:
        name_lines(axes)
    return figure


def choose_scale(axes: Axes, columns: Sequence[str], values: NDArray[np.float64]) -> None:
    """A logarithmic axis where it shows more of these columns of metrics.csv."""
    if wants_log(columns, values):
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
