"""Attention maps in a grid under one colour scale."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from attnexp.plots.style import HEAD, new_figure, panels, text_width, wrapped
from attnexp.runs.attention import Axis, Map, scale_end

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
    figure = new_figure(sum(widths) + 1.6, HEAD + sum(heights) + 0.7, title, subtitle)
    grid = panels(figure, len(cells), len(across), width_ratios=widths, height_ratios=heights)
    end, beyond = scale_end(np.concatenate([one.weights.ravel() for row in cells for one in row]))
    norm = Normalize(0, end)
    for i, row in enumerate(cells):
        for j, one in enumerate(row):
            axes: Axes = grid[i, j]
            draw_map(axes, one, norm)
            left, below = row[j - 1].rows, cells[min(i + 1, len(cells) - 1)][j].columns
            last = i == len(cells) - 1
            _tick(axes.yaxis, one.rows, labelled=j == 0 or not _same(one.rows, left))
            _tick(axes.xaxis, one.columns, labelled=last or not _same(one.columns, below))
            if j == 0:
                axes.set_ylabel(f"{wrapped(down[i], heights[i])}\n{_name(one.rows)}".strip())
            if last:
                axes.set_xlabel(_name(one.columns))
            if _is_crowded(one.columns, widths[j]):
                axes.tick_params(axis="x", labelrotation=90)
            if i == 0 and across[j]:
                axes.set_title(wrapped(across[j], widths[j]), fontsize=9, pad=4)
    scale = figure.colorbar(
        ScalarMappable(norm, "viridis"),
        ax=grid[0, -1],
        label="weight",
        extend="max" if beyond else "neither",
        fraction=0.06,
    )
    scale.outline.set_visible(False)
    return figure


def draw_map(axes: Axes, one: Map, norm: Normalize) -> None:
    """Draw a map with its gold path: rows go down if they are symbols, up if numbers."""
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


def _same(one: Axis, other: Axis) -> bool:
    if one.numbers is None or other.numbers is None:
        return one.symbols == other.symbols
    return np.array_equal(one.numbers, other.numbers)


def _inches(side: Axis, count: int) -> float:
    """Return inches for a side: by its symbols, or for numbers by the count of maps."""
    if side.numbers is not None:
        return 2.9 if count == 1 else 2.1 if count < 6 else 1.6
    return min(max(0.19 * len(side), 1.1), 4.5)


def _is_crowded(side: Axis, width: float) -> bool:
    """Return whether the tick labels below a map of this width in inches would collide."""
    widest = max((text_width(symbol, 8) for symbol in side.symbols), default=0.0)
    return bool(side.symbols) and widest + 0.06 > width / len(side)
