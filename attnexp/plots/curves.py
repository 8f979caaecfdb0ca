"""Pictures that compare how configurations were trained."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from attnexp.errors import RequestError, choices_text
from attnexp.plots.columns import words
from attnexp.plots.losses import choose_scale
from attnexp.plots.style import (
    BANDS,
    INK,
    LINES,
    WIDE,
    line_styles,
    name_lines,
    new_figure,
    plot_axes,
)
from attnexp.runs.configurations import Comparison, Configuration, seeds_by_epoch


def draw_curves(comparison: Comparison, columns: Sequence[str]) -> Figure:
    """Columns of metrics.csv against the epoch, a colour a configuration, a dash a further column.

    A line is the mean over the seeds and its band reaches from the smallest to the largest, over
    the epochs that all seeds have. Configurations that were not trained have no line.

    Raises RequestError where no configuration has the columns in all its runs.
    """
    looks = line_styles(len(comparison.configurations))
    trained = [
        (one, look)
        for one, look in zip(comparison.configurations, looks, strict=True)
        if all(column in run.epochs for run in one.runs for column in columns)
    ]
    if not trained:
        raise RequestError(f"no configuration wrote {choices_text(columns)} in all its runs")
    several = any(len(one.runs) > 1 for one, _ in trained)
    what = words(columns[0]) if len(columns) == 1 else "loss"
    title = f"{what.capitalize()}{comparison.scope}"
    figure = new_figure(WIDE, 3.9, title, BANDS if several else "")
    axes = plot_axes(figure, beside=True)
    drawn = []
    for one, look in trained:
        for i, column in enumerate(columns):
            epochs, values = seeds_by_epoch(one, column)
            line = look if i == 0 else look | {"linestyle": LINES[i % len(LINES)]}
            label = _counted(one) if i == 0 else None
            axes.plot(epochs, values.mean(axis=0), linewidth=1.8, label=label, **line)
            low, high = values.min(axis=0), values.max(axis=0)
            axes.fill_between(epochs, low, high, color=look["color"], alpha=0.18, linewidth=0)
            drawn.append(values.ravel())
    for i, column in enumerate(columns) if len(columns) > 1 else ():
        axes.plot([], [], LINES[i % len(LINES)], color=INK, label=words(column))
    choose_scale(axes, columns, np.concatenate(drawn))
    axes.set_xlabel("epoch")
    axes.set_ylabel(what)
    axes.margins(x=0.02)
    name_lines(axes, beside=True)
    return figure


def _counted(one: Configuration) -> str:
    return f"{one.label} ({len(one.runs)} seeds)" if len(one.runs) > 1 else one.label
