"""The picture of training."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from attnexp.core.errors import RequestError, choices_text
from attnexp.core.language import capitalized, said, say, translate
from attnexp.plots.base import Figures, Options
from attnexp.plots.lines import asked_columns, runs_of, wants_log, words
from attnexp.plots.style import (
    INK,
    LINES,
    best_of,
    draw_band,
    line_axes,
    lines_of,
    log_axis,
    name_lines,
)
from attnexp.runs.files import file_word
from attnexp.runs.folder import Run
from attnexp.select.configurations import Comparison, seeds_by_epoch


def draw_losses(comparison: Comparison, options: Options) -> Figures:
    """Yield columns of metrics.csv over the epochs: a colour per configuration, dashes by column.

    The columns are the losses, or the one that is asked for. A line is the mean over the seeds and
    its band or bars reach from the smallest to the largest, over the epochs that all seeds have.
    Configurations that were not trained have no line. A dotted line marks a second start.

    Raises RequestError if no configuration has the columns in all its runs.
    """
    columns = _columns(comparison, options.metric)
    if not columns:
        return
    trained = best_of(
        [
            each
            for each in lines_of(comparison)
            if all(column in run.epochs for run in each[0].runs for column in columns)
        ]
    )
    if not trained:
        raise RequestError(f"no configuration has {choices_text(columns)} in all its runs")
    figure, axes = line_axes(comparison, capitalized(_name(columns)), len(trained))
    drawn = [[seeds_by_epoch(one, column) for column in columns] for one, _, _ in trained]
    _set_axes(axes, columns, [values for lines in drawn for _, values in lines])
    for place, ((_, name, line), columns_drawn) in enumerate(zip(trained, drawn, strict=True)):
        for i, (epochs, values) in enumerate(columns_drawn):
            dashed = line if len(columns) == 1 else {**line, "linestyle": LINES[i % len(LINES)]}
            draw_band(axes, epochs, values, "" if i else name, dashed, place, len(trained))
    _mark_second_starts(axes, [run for one, _, _ in trained for run in one.runs])
    for i, column in enumerate(columns) if len(columns) > 1 else ():
        axes.plot([], [], LINES[i % len(LINES)], color=INK, label=translate(words(column)))
    name_lines(axes)
    yield file_word(options.metric if options.metric in columns else "loss"), figure


def _columns(comparison: Comparison, metric: str | None) -> list[str]:
    """Return the columns to draw: a metric that is none of them belongs to another picture."""
    runs = runs_of(comparison)
    return asked_columns(runs, metric if any(metric in run.epochs for run in runs) else None)


def _name(columns: Sequence[str]) -> str:
    return words(columns[0]) if len(columns) == 1 else said("loss")


def _mark_second_starts(axes: Axes, runs: Sequence[Run]) -> None:
    """Mark the epochs after which runs started a second time, from another width."""
    checks = [run.summary.width_check for run in runs]
    epochs = sorted({check.epoch for check in checks if check is not None and check.epoch})
    for i, epoch in enumerate(epochs):
        label = "" if i else say("second start")
        axes.axvline(epoch + 0.5, color=INK, linewidth=0.8, linestyle=":", label=label)


def _set_axes(axes: Axes, columns: Sequence[str], values: Sequence[NDArray[np.float64]]) -> None:
    axes.set_xlabel(say("epoch"))
    axes.set_ylabel(translate(_name(columns)))
    axes.margins(x=0.02)
    axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
    together = np.concatenate([each.ravel() for each in values])
    if wants_log(columns, together):
        log_axis(axes, "y", together)
