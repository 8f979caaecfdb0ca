"""The picture of the widths that a kernel has learned, one for each input."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from attnexp.plots.base import Figures, Options
from attnexp.plots.lines import names_of, widths_of
from attnexp.plots.style import HEAD, PALETTE, name_lines, new_figure, place, text_width
from attnexp.runs.run import Run

if TYPE_CHECKING:
    from attnexp.runs.configurations import Comparison

MOST = 40
"""Inputs that are shown: those with the largest widths."""

WIDEST = 2.4
"""Inches that the name of an input may take."""

MARKERS = "osD^vP*X"


def draw_widths(run: Run, options: Options) -> Figures:
    """Yield the width of each input: how fast the weight of a point falls along it."""
    if widths := widths_of(run):
        yield "widths", _figure(run.title, run.primary, [("", [widths])])


def compare_widths(comparison: "Comparison", options: Options) -> Figures:
    """Yield the widths of the configurations that have them: means, and ranges over seeds."""
    groups = [
        (name, [widths for run in one.runs if (widths := widths_of(run))])
        for name, one in zip(names_of(comparison), comparison.configurations, strict=True)
    ]
    if groups := [(name, several) for name, several in groups if several]:
        ranged = any(len(several) > 1 for _, several in groups)
        told = "mark: mean over seeds, line: smallest to largest" if ranged else ""
        yield "widths", _figure(f"Widths{comparison.scope}", told, groups, ranged)


def _figure(
    title: str,
    subtitle: str,
    groups: Sequence[tuple[str, Sequence[dict[str, float]]]],
    ranged: bool = False,
) -> Figure:
    """Return a row for each input: a mark for each group of runs, with their range or a bar."""
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
    figure = new_figure(width, height, title, subtitle)
    axes = place(figure, left, 0.52, width - left - 0.2, height - HEAD - 0.52)
    rows = np.arange(len(inputs))
    for i, (label, several) in enumerate(groups):
        values = np.array([[own.get(name, np.nan) for name in inputs] for own in several])
        at = rows + (i - (len(groups) - 1) / 2) * 0.6 / len(groups)
        colour = PALETTE[i % len(PALETTE)]
        axes.hlines(at, values.min(axis=0) if ranged else 0, values.max(axis=0), colour)
        axes.plot(
            values.mean(axis=0),
            at,
            linestyle="none",
            marker=MARKERS[i // len(PALETTE) % len(MARKERS)],
            markersize=5,
            color=colour,
            label=label,
        )
    axes.set_yticks(rows, inputs)
    axes.set_ylim(len(inputs) - 0.4, -0.6)
    axes.set_xlim(left=0)
    axes.set_xlabel("|width|, 0 where the input does not matter")
    if len(groups) > 1:
        name_lines(axes, beside=True)
    return figure
