"""Attention maps in a grid under one colour scale."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from attnexp.plots.style import HEAD, new_figure, place, text_width, wrapped
from attnexp.runs.attention import Axis, Map, scale_end

GAP = 0.16
"""Inches between maps that share their labels."""

LINE = 0.2
"""Inches for one line of tick labels."""

GOLD = "#ff5f52"
"""The colour of the outline of the gold position."""


def draw_grid(
    cells: Sequence[Sequence[Map]],
    across: Sequence[str],
    down: Sequence[str],
    title: str,
    subtitle: str,
) -> Figure:
    """Return maps in rows and columns, weights from 0 to the largest of all in one colour scale.

    `across` names the columns and `down` the rows; an empty text names nothing.
    """
    count = sum(map(len, cells))
    widths = [max(_inches(row[j].columns, count) for row in cells) for j in range(len(across))]
    heights = [max(_inches(one.rows, count) for one in row) for row in cells]
    across = [wrapped(name, width) for name, width in zip(across, widths, strict=True)]
    across_gaps, down_gaps = _gaps(cells, widths)
    top = HEAD + 0.2 * max(len(name.splitlines()) for name in across)
    down = [wrapped(name, height) for name, height in zip(down, heights, strict=True)]
    left = 0.4 + max(_ink(row[0].rows) for row in cells)
    left += 0.15 * max(len(name.splitlines()) for name in down)
    height = top + sum(heights) + sum(down_gaps)
    figure = new_figure(left + sum(widths) + sum(across_gaps), height, title, subtitle)
    end, beyond = scale_end(np.concatenate([one.weights.ravel() for row in cells for one in row]))
    norm = Normalize(0, end)
    y = height - top
    for i, row in enumerate(cells):
        y -= heights[i] + down_gaps[i]
        x, last = left, i == len(cells) - 1
        for j, one in enumerate(row):
            x += across_gaps[j]
            axes = place(figure, x, y, widths[j], heights[i])
            draw_map(axes, one, norm)
            _tick(axes.yaxis, one.rows, labelled=j == 0 or across_gaps[j] > GAP)
            _tick(axes.xaxis, one.columns, labelled=last or down_gaps[i + 1] > GAP)
            if j == 0:
                axes.set_ylabel(f"{down[i]}\n{_name(one.rows)}".strip())
            if last:
                axes.set_xlabel(_name(one.columns))
            if _below(one, widths[j]) > LINE:
                axes.tick_params(axis="x", labelrotation=90)
            if i == 0 and across[j]:
                axes.set_title(across[j], fontsize=9, pad=4)
            x += widths[j]
    bar_height = min(height - top, 2.4)
    bar = place(figure, x + 0.15, height - top - bar_height, 0.12, bar_height)
    extend = "max" if beyond else "neither"
    scale = figure.colorbar(ScalarMappable(norm, "viridis"), cax=bar, label="weight", extend=extend)
    scale.outline.set_visible(False)
    return figure


def draw_map(axes: Axes, one: Map, norm: Normalize) -> None:
    """Draw a map with its gold path: rows go down where they are symbols, up where numbers."""
    origin: Literal["upper", "lower"] = "upper" if one.rows.symbols else "lower"
    axes.imshow(one.weights, cmap="viridis", norm=norm, aspect="auto", origin=origin)
    for side in axes.spines.values():
        side.set_visible(False)
    if one.gold is not None:
        at = np.flatnonzero(one.gold >= 0)
        corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
        squares = np.stack([one.gold[at], at], axis=1)[:, None, :] + corners
        axes.add_collection(
            PolyCollection(squares, facecolors="none", edgecolors=GOLD, linewidths=1.1),
            autolim=False,
        )


def _tick(axis: XAxis | YAxis, side: Axis, labelled: bool) -> None:
    """Set the ticks: a symbol at every place, or round numbers between sorted points."""
    axis.set_tick_params(length=2, pad=2)
    if side.numbers is None:
        places, labels = np.arange(len(side)), list(side.symbols)
    else:
        low, high = side.numbers[0], side.numbers[-1]
        round_numbers = MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(low, high)
        inside = round_numbers[(round_numbers >= low) & (round_numbers <= high)]
        places = np.interp(inside, side.numbers, np.arange(len(side)))
        labels = [f"{number:g}" for number in inside]
    axis.set_ticks(places, labels if labelled else [""] * len(labels))


def _name(side: Axis) -> str:
    return side.name if side.numbers is None else f"{side.name} (sorted)"


def _gaps(
    cells: Sequence[Sequence[Map]], widths: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Return the gaps before each column and above each row, in inches.

    There is none before the first, a small one between maps that share their labels, and one that
    holds the labels elsewhere.
    """
    across, down = [0.0], [0.0]
    for j in range(1, len(widths)):
        shared = all(_same(row[j].rows, row[j - 1].rows) for row in cells)
        across.append(GAP if shared else GAP + max(_ink(row[j].rows) for row in cells))
    for above, below in pairwise(cells):
        shared = all(_same(a.columns, b.columns) for a, b in zip(above, below, strict=True))
        down.append(GAP if shared else GAP + max(map(_below, above, widths)))
    return across, down


def _same(one: Axis, other: Axis) -> bool:
    """Return whether two sides may share their labels."""
    if one.numbers is None or other.numbers is None:
        return one.symbols == other.symbols
    return np.array_equal(one.numbers, other.numbers)


def _inches(side: Axis, count: int) -> float:
    """Return inches for a side: by its symbols, or for numbers by the count of maps."""
    if side.numbers is not None:
        return 2.9 if count == 1 else 2.1 if count < 6 else 1.6
    return min(max(0.19 * len(side), 1.1), 4.5)


def _ink(side: Axis) -> float:
    """Return the width of the widest tick label, in inches."""
    return max((text_width(symbol, 8) for symbol in side.symbols), default=0.13) + 0.06


def _below(one: Map, width: float) -> float:
    """Return the height of the tick labels below a map, which are upright if they collide."""
    ink = _ink(one.columns)
    return ink if one.columns.symbols and ink > width / len(one.columns) else LINE
