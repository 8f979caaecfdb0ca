"""Pictures of training: of a run, and of configurations compared."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from numpy.typing import NDArray

from attnexp.errors import RequestError, choices_text
from attnexp.plots.base import Figures, Options
from attnexp.plots.lines import asked_columns, names_of, runs_of, wants_log, words
from attnexp.plots.style import (
    INK,
    LINES,
    bands_of,
    draw_band,
    file_word,
    line_styles,
    name_lines,
    new_figure,
    plot_axes,
)
from attnexp.runs.run import Run

if TYPE_CHECKING:
    from attnexp.runs.configurations import Comparison


def draw_losses(run: Run, options: Options) -> Figures:
    """Yield the losses, or the column of metrics.csv that is asked for, against the epoch."""
    columns = asked_columns([run], options.metric)
    if not columns:
        return
    figure = new_figure(5.6, 3.4, run.title, run.primary)
    axes = _axes(figure, columns, [run.epochs[name] for name in columns])
    for name, look in zip(columns, line_styles(len(columns)), strict=True):
        draw_band(axes, run.epochs["epoch"], run.epochs[name][None], words(name), look)
    if len(columns) > 1:
        name_lines(axes)
    yield file_word(options.metric or "loss"), figure


def compare_losses(comparison: "Comparison", options: Options) -> Figures:
    """Yield columns of metrics.csv against the epoch: a colour a configuration, a dash a column.

    A line is the mean over the seeds and its band reaches from the smallest to the largest, over
    the epochs that all seeds have. Configurations that were not trained have no line.

    Raises RequestError where no configuration has the columns in all its runs.
    """
    from attnexp.runs.configurations import seeds_by_epoch

    columns = asked_columns(runs_of(comparison), options.metric)
    if not columns:
        return
    configurations = comparison.configurations
    looks, names = line_styles(len(configurations)), names_of(comparison)
    trained = [
        (one, name, look)
        for one, name, look in zip(configurations, names, looks, strict=True)
        if all(column in run.epochs for run in one.runs for column in columns)
    ]
    if not trained:
        raise RequestError(f"no configuration wrote {choices_text(columns)} in all its runs")
    title = f"{_name(columns).capitalize()}{comparison.scope}"
    figure = new_figure(5.6, 3.9, title, bands_of(comparison))
    drawn = [[seeds_by_epoch(one, column) for column in columns] for one, _, _ in trained]
    axes = _axes(figure, columns, [values for lines in drawn for _, values in lines])
    for (one, name, look), lines in zip(trained, drawn, strict=True):
        seeds = f" ({len(one.runs)} seeds)" if len(one.runs) > 1 else ""
        for i, (epochs, values) in enumerate(lines):
            dashed = look if i == 0 else look | {"linestyle": LINES[i % len(LINES)]}
            draw_band(axes, epochs, values, None if i else name + seeds, dashed)
    for i, column in enumerate(columns) if len(columns) > 1 else ():
        axes.plot([], [], LINES[i % len(LINES)], color=INK, label=words(column))
    name_lines(axes, beside=True)
    yield file_word(options.metric or "loss"), figure


def _name(columns: Sequence[str]) -> str:
    return words(columns[0]) if len(columns) == 1 else "loss"


def _axes(figure: Figure, columns: Sequence[str], values: Sequence[NDArray[np.float64]]) -> Axes:
    """Return axes over the epoch, which is a whole number, for these values of the columns."""
    axes = plot_axes(figure)
    axes.set_xlabel("epoch")
    axes.set_ylabel(_name(columns))
    axes.margins(x=0.02)
    axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
    if wants_log(columns, np.concatenate([each.ravel() for each in values])):
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    return axes
