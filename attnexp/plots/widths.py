"""The picture of the widths that a kernel has learned, one for each input."""

import numpy as np

from attnexp.plots.base import Figures, Options
from attnexp.plots.lines import widths_of
from attnexp.plots.style import (
    HEAD,
    PALETTE,
    lines_of,
    name_lines,
    new_figure,
    place,
    text_width,
    title_of,
)
from attnexp.select.groups import Comparison

MOST = 40
"""Inputs that are shown: those with the largest widths."""

WIDEST = 2.4
"""Inches that the name of an input may take."""


def draw_widths(comparison: Comparison, options: Options) -> Figures:
    """Yield the width of each input: how fast the weight of a point falls along it.

    A row is an input, with a mark for each configuration that has widths, and a bar from 0, or the
    range over seeds.
    """
    groups = [
        (name, several)
        for one, name, _ in lines_of(comparison)
        if (several := [widths for run in one.runs if (widths := widths_of(run))])
    ]
    if not groups:
        return
    ranged = any(len(several) > 1 for _, several in groups)
    subtitle = "mark: mean over seeds, line: smallest to largest" if ranged else ""
    largest: dict[str, float] = {}
    for _, several in groups:
        for widths in several:
            for name, width in widths.items():
                largest[name] = max(width, largest.get(name, 0.0))
    kept = set(sorted(largest, key=lambda name: -largest[name])[:MOST])
    inputs = [name for name in largest if name in kept]
    left = 0.3 + min(WIDEST, max(text_width(name, 9) for name in inputs))
    pitch = 0.22 + 0.09 * len(groups)
    width, height = left + 4.2, HEAD + pitch * len(inputs) + 0.6
    primary = comparison.alone.primary if comparison.alone else subtitle
    figure = new_figure(width, height, title_of(comparison, "Widths"), primary)
    axes = place(figure, left, 0.52, width - left - 0.2, height - HEAD - 0.52)
    rows = np.arange(len(inputs))
    for i, (label, several) in enumerate(groups):
        values = np.array([[own.get(name, np.nan) for name in inputs] for own in several])
        at = rows + (i - (len(groups) - 1) / 2) * 0.6 / len(groups)
        colour = PALETTE[i % len(PALETTE)]
        axes.hlines(at, values.min(axis=0) if ranged else 0, values.max(axis=0), colour)
        axes.plot(values.mean(axis=0), at, "o", markersize=5, color=colour, label=label)
    axes.set_yticks(rows, inputs)
    axes.set_ylim(len(inputs) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.set_xlabel("|width|, 0 where the input does not matter")
    name_lines(axes)
    yield "widths", figure
