"""The picture of a claim's curves."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from attnexp.claims.evidence import Point
from attnexp.plots.style import LINES, PALETTE, draw_band, name_lines, new_figure, plot_axes, save

WIDE = 30
"""Positive numbers that span more than this factor have a logarithmic axis."""


def draw_curves(points: Sequence[Point], title: str, labels: tuple[str, str], path: Path) -> None:
    """Draw each curve: the mean over the seeds, and a band from the smallest to the largest.

    The places of a curve are those that all its seeds have. The picture is written to `path`.
    """
    seeds = len({point.seed for point in points})
    figure = new_figure(5.6, 3.9, title, f"mean of {seeds} seeds, band: smallest to largest")
    axes = plot_axes(figure)
    for place, curve in enumerate(dict.fromkeys(point.curve for point in points)):
        rows: dict[int, dict[float, float]] = {}
        for point in points:
            if point.curve == curve:
                rows.setdefault(point.seed, {})[point.x] = point.y
        x = sorted(set.intersection(*(set(row) for row in rows.values())))
        values = np.array([[row[each] for each in x] for row in rows.values()])
        colour, dashes = PALETTE[place % len(PALETTE)], LINES[place % len(LINES)]
        draw_band(axes, np.array(x), values, curve, {"color": colour, "linestyle": dashes})
    axes.set_xlabel(labels[0])
    axes.set_ylabel(labels[1])
    _scale(axes, "x", [point.x for point in points])
    _scale(axes, "y", [point.y for point in points])
    name_lines(axes)
    save(figure, [path])


def _scale(axes: Axes, name: str, numbers: Sequence[float]) -> None:
    """Make an axis logarithmic where its numbers are positive and span a wide range."""
    if min(numbers) <= 0 or max(numbers) / min(numbers) <= WIDE:
        return
    axis = axes.xaxis if name == "x" else axes.yaxis
    axes.set(**{f"{name}scale": "log"})
    axis.set_major_locator(LogLocator(numticks=8))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
