"""Attention maps in a grid under one colour scale."""

from collections.abc import Sequence
from dataclasses import dataclass
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
from numpy.typing import NDArray

from attnexp.plots.style import HEAD, new_figure, place, text_width, wrapped
from attnexp.runs.attention_maps import Axis, Map, scale_end

GAP = 0.16
"""Inches between maps that share their labels."""

LINE = 0.2
"""Inches for one line of tick labels."""

GOLD = "#ff5f52"
"""The outline of the position that a row should look at."""


@dataclass(frozen=True)
class Shade:
    """How numbers become colours, what the numbers are, and on which ends some are beyond."""

    colours: str
    low: float
    high: float
    label: str
    beyond: Literal["neither", "max", "both"]

    def norm(self) -> Normalize:
        """Return the scale from low to high."""
        return Normalize(self.low, self.high)

    def mappable(self) -> ScalarMappable:
        """Return what a colour bar is drawn from."""
        return ScalarMappable(self.norm(), self.colours)


def draw_grid(
    cells: Sequence[Sequence[Map]],
    across: Sequence[str],
    down: Sequence[str],
    title: str,
    subtitle: str,
    signed: int | None = None,
) -> Figure:
    """Return maps in rows and columns, weights from 0 to the largest of all in one colour scale.

    `across` names the columns and `down` the rows; an empty text names nothing. The column `signed`
    holds differences of weights, which have a colour scale of their own, even around 0.
    """
    count = sum(map(len, cells))
    sizes = [[(_inches(m.columns, count), _inches(m.rows, count)) for m in row] for row in cells]
    widths = [max(row[j][0] for row in sizes) for j in range(len(across))]
    heights = [max(height for _, height in row) for row in sizes]
    down = [wrapped(name, height) for name, height in zip(down, heights, strict=True)]
    across = [wrapped(name, width) for name, width in zip(across, widths, strict=True)]
    across_gaps, down_gaps = _gaps(cells, widths)
    top = HEAD + 0.2 * max(len(name.splitlines()) for name in across)
    left = 0.4 + max(_ink(row[0].rows) for row in cells)
    left += 0.1 + 0.15 * max(len(name.splitlines()) for name in down)
    bottom = 0.32 + max(map(_standing, cells[-1], widths))
    width = left + sum(widths) + sum(across_gaps)
    height = top + sum(heights) + sum(down_gaps) + bottom
    figure = new_figure(width, height, title, subtitle)
    shades = _shades(cells, signed)
    y = height - top
    for i, row in enumerate(cells):
        y -= heights[i] + down_gaps[i]
        x = left
        last = i == len(cells) - 1
        for j, one in enumerate(row):
            x += across_gaps[j]
            axes = place(figure, x, y, widths[j], heights[i])
            draw_map(axes, one, shades[j == signed])
            _label(axes.yaxis, one.rows, ticked=j == 0 or across_gaps[j] > GAP, named=j == 0)
            _label(axes.xaxis, one.columns, ticked=last or down_gaps[i + 1] > GAP, named=last)
            if _standing(one, widths[j]) > LINE:
                axes.tick_params(axis="x", labelrotation=90)
            if i == 0 and across[j]:
                axes.set_title(across[j], fontsize=9, pad=4)
            x += widths[j]
        middle = (y + heights[i] / 2) / height
        figure.text(0.12 / width, middle, down[i], rotation=90, va="center", ma="center")
    bar_height = min(height - top - bottom, 2.4)
    bars: list[Axes] = []
    for shade in shades if signed is not None else shades[:1]:
        x = _right(bars[-1]) if bars else x
        bars.append(place(figure, x + 0.15, height - top - bar_height, 0.12, bar_height))
        scale = figure.colorbar(
            shade.mappable(), cax=bars[-1], label=shade.label, extend=shade.beyond
        )
        scale.outline.set_visible(False)
    return figure


def draw_map(axes: Axes, one: Map, shade: Shade) -> None:
    """Draw a map with its gold path: rows go down where they are symbols, up where numbers."""
    origin: Literal["upper", "lower"] = "upper" if one.rows.symbols else "lower"
    axes.imshow(one.weights, cmap=shade.colours, norm=shade.norm(), aspect="auto", origin=origin)
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


def _right(axes: Axes) -> float:
    """Return where axes with their labels end, in inches from the left."""
    box = axes.get_tightbbox()
    return 0.0 if box is None else box.x1 / axes.figure.dpi


def _label(axis: XAxis | YAxis, side: Axis, ticked: bool, named: bool) -> None:
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
    axis.set_ticks(places, labels if ticked else [""] * len(labels))
    if named:
        axis.set_label_text(side.name if side.numbers is None else f"{side.name} (sorted)")


def _gaps(
    cells: Sequence[Sequence[Map]], widths: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Return inches before each column and above each row.

    There are none before the first, few between maps that share their labels, and room for labels
    where they do not.
    """
    across, down = [0.0], [0.0]
    for j in range(1, len(widths)):
        shared = all(_same(row[j].rows, row[j - 1].rows) for row in cells)
        across.append(GAP if shared else GAP + max(_ink(row[j].rows) for row in cells))
    for above, below in pairwise(cells):
        shared = all(_same(a.columns, b.columns) for a, b in zip(above, below, strict=True))
        down.append(GAP if shared else GAP + max(map(_standing, above, widths)))
    return across, down


def _shades(cells: Sequence[Sequence[Map]], signed: int | None) -> tuple[Shade, Shade]:
    """Return the colour scales of weights and of differences, each for all maps of its kind."""
    kinds: tuple[list[NDArray[np.float64]], ...] = ([np.zeros(1)], [np.zeros(1)])
    for row in cells:
        for j, one in enumerate(row):
            kinds[j == signed].append(np.abs(one.weights).ravel())
    (weight, weight_cut), (size, size_cut) = (scale_end(np.concatenate(kind)) for kind in kinds)
    return (
        Shade("viridis", 0.0, weight, "weight", "max" if weight_cut else "neither"),
        Shade("RdBu_r", -size, size, "difference of weights", "both" if size_cut else "neither"),
    )


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
    """Return the inches that the widest tick label takes."""
    return max((text_width(symbol, 8) for symbol in side.symbols), default=0.13) + 0.06


def _standing(one: Map, width: float) -> float:
    """Return inches below a map for its tick labels, upright where they would collide."""
    ink = _ink(one.columns)
    return ink if one.columns.symbols and ink > width / len(one.columns) else LINE
