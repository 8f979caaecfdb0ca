"""The picture of a claim's curves."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from attnexp.claims.evidence import Point
from attnexp.plots.lines import WIDE, spans_powers
from attnexp.plots.picture_style import Style
from attnexp.plots.style import (
    draw_band,
    line_styles,
    log_axis,
    name_lines,
    new_figure,
    plot_axes,
    range_of,
    save,
    style_context,
)


def draw_curves(
    points: Sequence[Point], title: str, labels: tuple[str, str], path: Path, style: Style
) -> None:
    """Draw each curve: the mean over the seeds, and a band or bars of their range.

    The places of a curve are those that all its seeds have; a curve of one place is a number and is
    not drawn. The picture is written to `path`.
    """
    seeds = len({point.seed for point in points})
    places: dict[str, set[float]] = {}
    for point in points:
        places.setdefault(point.curve, set()).add(point.x)
    drawn = [point for point in points if len(places[point.curve]) > 1]
    with style_context(style.settings):
        curves = list(dict.fromkeys(point.curve for point in drawn))
        subtitle = f"mean of {seeds} seeds, {range_of(len(curves))}: smallest to largest"
        figure = new_figure(5.6, 3.9, title, subtitle)
        axes = plot_axes(figure)
        styled = zip(curves, line_styles(len(curves)), strict=True)
        for place, (curve, line) in enumerate(styled):
            rows: dict[int, dict[float, float]] = {}
            for point in drawn:
                if point.curve == curve:
                    rows.setdefault(point.seed, {})[point.x] = point.y
            x = sorted(set.intersection(*(set(row) for row in rows.values())))
            values = np.array([[row[each] for each in x] for row in rows.values()])
            draw_band(axes, np.array(x), values, curve, line, place, len(curves))
        axes.set_xlabel(labels[0])
        axes.set_ylabel(labels[1])
        _scale(axes, "x", [point.x for point in drawn])
        _scale(axes, "y", [point.y for point in drawn])
        name_lines(axes)
        style.finish(figure)
        save(figure, [path])


def _scale(axes: Axes, name: str, numbers: Sequence[float]) -> None:
    """Make an axis logarithmic if its numbers are positive and span a wide range."""
    if spans_powers(np.array(numbers), WIDE):
        log_axis(axes, name, np.array(numbers))
