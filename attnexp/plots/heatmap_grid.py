"""Attention maps in a grid under one colour scale."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib import colormaps, rcParams
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.cm import ScalarMappable
from matplotlib.collections import PolyCollection
from matplotlib.colors import Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from attnexp.core.language import say, translate
from attnexp.plots.style import (
    FAINT,
    HEAD,
    HIDDEN,
    INK,
    WRONG,
    fitting_size,
    new_figure,
    panels,
    text_width,
    wrapped,
)
from attnexp.runs.attention import Map, MapAxis, has_signs, is_uneven, scale_end

GOLD = "#ff5f52"
"""The colour of the outline of the gold position."""

HATCH = "/" * 5
"""The hatching of cells that a mask hides: thin lines at a slant."""

ACROSS = 6
"""The most maps next to each other in a grid, if no number is asked for."""

FEW = 6
"""The most maps whose cells have their full size."""

CELL, SMALLEST = 0.19, 0.12
"""Inches of a cell of symbols, and of the smallest cell whose label can be read."""

WIDEST, TALLEST = 9.0, 6.6
"""The most inches that all maps of a picture take: it stays within 1,600 by 1,200 pixels."""

GAP = 0.5
"""The least space between labels below a map, in characters."""

LABEL = 0.14
"""The height of a label in inches."""

BAR = 2.6
"""The most inches that the bar of colours is high."""


def draw_named(
    maps: Sequence[Map],
    names: Sequence[str],
    title: str,
    subtitle: str,
    columns: int | None = None,
    scaled: Sequence[Map] = (),
) -> Figure:
    """Return maps in a grid, each below its name.

    `columns` is the number of maps next to each other, by default as many as a page holds. The
    colour scale also covers the maps in `scaled`, which are not drawn.
    """
    if columns is None:
        columns = math.ceil(len(maps) / math.ceil(len(maps) / ACROSS))
    starts = range(0, len(maps), columns)
    cells = [maps[start : start + columns] for start in starts]
    titles = [names[start : start + columns] for start in starts]
    return draw_grid(cells, titles, [""] * len(cells), title, subtitle, scaled)


def draw_grid(
    cells: Sequence[Sequence[Map]],
    titles: Sequence[Sequence[str]],
    down: Sequence[str],
    title: str,
    subtitle: str,
    scaled: Sequence[Map] = (),
) -> Figure:
    """Return maps in rows and columns under one colour scale, from weight 0 to its end.

    If there are negative weights, the scale begins as far below 0 as it ends above, and 0 is white.
    If some map of numbers would be dark, see `is_uneven`, the colours show square roots, in which
    small weights can be told apart.

    `titles` has the titles of the maps, row by row; a first row alone names the columns. `down`
    names the rows. An empty text names nothing. The last row may be shorter than the others. The
    colour scale also covers the maps in `scaled`, which are not drawn.
    """
    maps = [one for row in cells for one in row]
    columns = len(cells[0])
    wrong = [[_labels(one.rows) for one in row[1:] if len(one.rows.wrong)] for row in cells]
    beside = max(sum(max(text_width(each, 8) for each in own) for own in row) for row in wrong)
    widths, heights = _fitted(cells, WIDEST - beside)
    lines = [max(_lines(name, w) for name, w in zip(row, widths, strict=False)) for row in titles]
    named = (sum(lines) - min(lines[0], 1)) * 0.2
    labelled = [[_is_labelled(cells, i, j) for j in range(len(row))] for i, row in enumerate(cells)]
    below = 0.45 * sum(map(any, labelled[:-1]))
    size = (sum(widths) + beside + 1.6, HEAD + sum(heights) + 0.7 + named + below)
    figure = new_figure(*size, title, subtitle)
    grid = panels(figure, len(cells), columns, width_ratios=widths, height_ratios=heights)
    norm = _add_scale(figure, list(grid[:, -1]), maps, scaled, sum(heights))
    across = _common_name([one.columns for one in maps] if columns > 1 else [])
    downwards = _common_name([one.rows for one in maps] if len(cells) > 1 else [])
    for axes in grid[-1, len(cells[-1]) :]:
        axes.set_axis_off()
    for i, row in enumerate(cells):
        for j, one in enumerate(row):
            axes = grid[i, j]
            draw_map(axes, one, norm)
            first = j == 0 or not _same(one.rows, row[j - 1].rows)
            _tick(axes.yaxis, one.rows, heights[i], labelled=first)
            _tick(axes.xaxis, one.columns, widths[j], labelled=labelled[i][j])
            if j == 0:
                own = "" if downwards else translate(one.rows.name)
                axes.set_ylabel(f"{wrapped(down[i], heights[i])}\n{own}".strip())
            if not across and _is_last(cells, i, j):
                axes.set_xlabel(translate(one.columns.name))
            if i < len(titles) and titles[i][j]:
                name = wrapped(titles[i][j], widths[j])
                axes.set_title(name, fontsize=fitting_size(name, widths[j], 9), pad=4)
    for name, write in ((across, figure.supxlabel), (downwards, figure.supylabel)):
        if name:
            write(name, fontsize=rcParams["axes.labelsize"], color=INK)
    return figure


def _fitted(cells: Sequence[Sequence[Map]], widest: float) -> tuple[list[float], list[float]]:
    """Return the inches of the columns and the rows of maps, within `widest` and `TALLEST`."""
    count = sum(map(len, cells))
    sizes = [[_inches(one, count) for one in row] for row in cells]
    widths = [max(row[j][0] for row in sizes if j < len(row)) for j in range(len(cells[0]))]
    heights = [max(up for _, up in row) for row in sizes]
    part = min(1.0, widest / sum(widths), TALLEST / sum(heights))
    return [part * each for each in widths], [part * each for each in heights]


def _add_scale(
    figure: Figure,
    beside: Sequence[Axes],
    maps: Sequence[Map],
    scaled: Sequence[Map],
    inches: float,
) -> Normalize:
    """Draw the bar of colours next to some axes, and return the colour scale.

    The axes are `inches` high together.
    """
    weights = np.concatenate([one.weights.ravel() for one in [*maps, *scaled]])
    end, beyond = scale_end(weights, min(one.weights.shape[1] for one in maps))
    largest = [float(np.nanmax(one.weights, initial=0.0)) for one in maps]
    signed = has_signs(weights)
    rooted = not signed and maps[0].rows.numbers is not None and is_uneven(largest, end)
    norm = PowerNorm(0.5, 0, end) if rooted else Normalize(-end if signed else 0, end)
    bar = figure.colorbar(
        ScalarMappable(norm, _colours_of(norm)),
        ax=beside,
        label=say("weight, root scale") if rooted else say("weight"),
        extend=("both" if signed else "max") if beyond else "neither",
        fraction=0.06,
        shrink=min(1.0, BAR / inches),
        anchor=(0.0, 1.0),
    )
    bar.outline.set_visible(False)
    return norm


def _common_name(sides: Sequence[MapAxis]) -> str:
    """Return the name that all sides share, an empty text if there are several names."""
    names = {translate(side.name) for side in sides}
    return names.pop() if len(names) == 1 else ""


def draw_map(axes: Axes, one: Map, norm: Normalize) -> None:
    """Draw a map with its gold path, and with lines between the parts of its sides.

    Rows of symbols go down, rows of numbers up. Hidden cells are transparent, on a hatched ground.
    A weight of NaN is white.
    """
    origin: Literal["upper", "lower"] = "upper" if one.rows.symbols else "lower"
    colours = colormaps[_colours_of(norm)].with_extremes(bad="white")
    image = axes.imshow(one.weights, cmap=colours, norm=norm, aspect="auto", origin=origin)
    if one.hidden is not None and one.hidden.any():
        image.set_alpha(np.where(one.hidden, 0.0, 1.0))
        axes.patch.set(facecolor=HIDDEN, edgecolor=FAINT, hatch=HATCH)
    axes.spines[:].set_visible(False)
    for colour, width in (("white", 2.2), ("black", 0.9)):
        for place in one.columns.parts:
            axes.axvline(place - 0.5, color=colour, linewidth=width)
        for place in one.rows.parts:
            axes.axhline(place - 0.5, color=colour, linewidth=width)
    if one.gold is not None:
        at = np.flatnonzero(one.gold >= 0)
        corners = np.array([(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
        squares = np.stack([one.gold[at], at], axis=1)[:, None, :] + corners
        axes.add_collection(
            PolyCollection(squares, facecolors="none", edgecolors=GOLD, linewidths=1.1),
            autolim=False,
        )


def _colours_of(norm: Normalize) -> str:
    """Return the name of the colour map of a scale: one with white at 0 if it begins below 0."""
    return "RdBu_r" if norm.vmin is not None and norm.vmin < 0 else "viridis"


def _lines(text: str, width: float) -> int:
    return len(wrapped(text, width).splitlines())


def _is_last(cells: Sequence[Sequence[Map]], i: int, j: int) -> bool:
    """Return whether no map is below this one."""
    return i == len(cells) - 1 or j >= len(cells[i + 1])


def _is_labelled(cells: Sequence[Sequence[Map]], i: int, j: int) -> bool:
    """Return whether a map has labels below it: no map with the same columns is right below."""
    return _is_last(cells, i, j) or not _same(cells[i][j].columns, cells[i + 1][j].columns)


def _tick(axis: XAxis | YAxis, side: MapAxis, inches: float, labelled: bool) -> None:
    """Set the ticks of a side: a symbol at every place, or round numbers between sorted points.

    A symbol that was decoded wrongly is red, and the decoded one follows it. Symbols below a map
    are turned if they are wider than a cell. Labels that would overlap are left out with their
    ticks. Without `labelled` there are ticks and no labels.
    """
    axis.set_tick_params(length=2, pad=2)
    if side.numbers is None:
        places, labels = np.arange(len(side)), _labels(side)
    else:
        low, high = side.numbers[0], side.numbers[-1]
        round_numbers = MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(low, high)
        inside = round_numbers[(round_numbers >= low) & (round_numbers <= high)]
        places = np.interp(inside, side.numbers, np.arange(len(side)))
        labels = [f"{number:g}" for number in inside]
    cell, below = inches / len(side), axis.axis_name == "x"
    long = [below and text_width(label, 8) + GAP * text_width("m", 8) > cell for label in labels]
    turned = [bool(side.symbols) and each for each in long]
    sizes = [
        LABEL if turn or not below else text_width(label, 8) + GAP * text_width("m", 8)
        for turn, label in zip(turned, labels, strict=True)
    ]
    kept = _apart((places * cell).tolist(), sizes)
    axis.set_ticks(places[kept], [labels[i] if labelled else "" for i in kept])
    for i, tick in zip(kept, axis.get_ticklabels(), strict=True):
        if i in side.wrong:
            tick.set_color(WRONG)
        if turned[i]:
            tick.set_rotation(90)


def _apart(places: Sequence[float], sizes: Sequence[float]) -> list[int]:
    """Return the indices of labels to keep, so that none overlaps the one before it."""
    kept, end = list[int](), -math.inf
    for i, (place, size) in enumerate(zip(places, sizes, strict=True)):
        if place - size / 2 >= end:
            kept.append(i)
            end = place + size / 2
    return kept


def _labels(side: MapAxis) -> list[str]:
    labels = list(side.symbols)
    for i in side.wrong:
        labels[i] = f"{labels[i]}\N{NOT EQUAL TO}{side.decoded[i]}"
    return labels


def _same(one: MapAxis, other: MapAxis) -> bool:
    if one.numbers is None or other.numbers is None:
        return (one.symbols, one.decoded) == (other.symbols, other.decoded)
    return np.array_equal(one.numbers, other.numbers)


def _inches(one: Map, count: int) -> tuple[float, float]:
    """Return width and height of a map: by its symbols, or, for numbers, by the count of maps.

    The more maps there are, the smaller is a cell, so that a picture stays within a page.
    """
    cell = CELL if count <= FEW else max(CELL * FEW / count, SMALLEST)
    sides = []
    for side in (one.columns, one.rows):
        if side.numbers is not None:
            sides.append(2.9 if count == 1 else 2.1 if count <= 3 else 1.4)
        else:
            sides.append(min(max(cell * len(side), 0.9), 4.5))
    return sides[0], sides[1]
