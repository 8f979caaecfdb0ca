"""Pictures of attention: maps in a grid under one colour scale."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import MaxNLocator

from attnexp.pictures.canvas import HEAD, new_figure, place
from attnexp.pictures.stored import Attention, Axis, Map, StoredRun

EXAMPLES = 3
"""Examples that the picture of a run shows."""

GAP = 0.16
"""Inches between maps that share their labels."""

LINE = 0.2
"""Inches for one line of tick labels."""

GOLD = "#ff5f52"
"""The outline of the position that a row should look at."""


def draw_attention(run: StoredRun, name: str) -> Figure:
    """The maps of a run: heads side by side, and a row for every layer of every example.

    With one layer and one head, the examples are side by side.
    """
    attention = run.attention
    batch, layers, heads = attention.weights[name].shape[:3]
    examples = range(min(EXAMPLES, batch))
    if layers == heads == 1:
        cells = [[attention.map(name, example, 0, 0) for example in examples]]
        across = [f"example {i + 1}" for i in examples] if batch > 1 else [""]
        down = [""]
    else:
        pairs = [(example, layer) for example in examples for layer in range(layers)]
        cells = [[attention.map(name, i, layer, h) for h in range(heads)] for i, layer in pairs]
        across = [f"head {head + 1}" for head in range(heads)]
        down = [_row_title(i, batch, layer, layers) for i, layer in pairs]
    return draw_grid(cells, across, down, run.title, _subtitle(run, attention, name))


def draw_grid(
    cells: Sequence[Sequence[Map]],
    across: Sequence[str],
    down: Sequence[str],
    title: str,
    subtitle: str,
) -> Figure:
    """Maps in rows and columns, weights from 0 to the largest of all in one colour scale.

    `across` names the columns and `down` the rows; an empty text names nothing.
    """
    several = sum(map(len, cells)) > 1
    sizes = [[(_inches(m.columns, several), _inches(m.rows, several)) for m in r] for r in cells]
    widths = [max(row[j][0] for row in sizes) for j in range(len(across))]
    heights = [max(height for _, height in row) for row in sizes]
    across_gaps, down_gaps = _gaps(cells, widths)
    top = HEAD + (0.2 if any(across) else 0.0)
    left = 0.4 + max(_ink(row[0].rows) for row in cells)
    left += 0.1 + 0.15 * max(len(name.splitlines()) for name in down)
    bottom = 0.32 + max(map(_standing, cells[-1], widths))
    width = max(left + sum(widths) + sum(across_gaps) + 0.85, 4.2)
    height = top + sum(heights) + sum(down_gaps) + bottom
    figure = new_figure(width, height, title, subtitle)
    largest = max(float(one.weights.max(initial=0)) for row in cells for one in row) or 1.0
    y = height - top
    for i, row in enumerate(cells):
        y -= heights[i] + down_gaps[i]
        x = left
        last = i == len(cells) - 1
        for j, one in enumerate(row):
            x += across_gaps[j]
            axes = place(figure, x, y, widths[j], heights[i])
            image = draw_map(axes, one, largest)
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
    bar = place(figure, x + 0.15, height - top - bar_height, 0.12, bar_height)
    figure.colorbar(image, cax=bar, label="weight").outline.set_visible(False)
    return figure


def draw_map(axes: Axes, one: Map, largest: float) -> AxesImage:
    """One map with its gold path: rows go down where they are symbols, up where numbers."""
    origin: Literal["upper", "lower"] = "upper" if one.rows.symbols else "lower"
    image = axes.imshow(
        one.weights, cmap="viridis", vmin=0, vmax=largest, aspect="auto", origin=origin
    )
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
    return image


def _label(axis: XAxis | YAxis, side: Axis, ticked: bool, named: bool) -> None:
    """Ticks: a symbol at every place, or round numbers where they fall between sorted points."""
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
    """Inches before each column and above each row: none before the first, little between maps
    that share their labels, and room for labels where they do not."""
    across, down = [0.0], [0.0]
    for j in range(1, len(widths)):
        shared = all(_same(row[j].rows, row[j - 1].rows) for row in cells)
        across.append(GAP if shared else GAP + max(_ink(row[j].rows) for row in cells))
    for above, below in pairwise(cells):
        shared = all(_same(a.columns, b.columns) for a, b in zip(above, below, strict=True))
        down.append(GAP if shared else GAP + max(map(_standing, above, widths)))
    return across, down


def _same(one: Axis, other: Axis) -> bool:
    """Whether two sides may share their labels."""
    if one.numbers is None or other.numbers is None:
        return one.symbols == other.symbols
    return np.array_equal(one.numbers, other.numbers)


def _inches(side: Axis, several: bool) -> float:
    """Room for a side: enough for a symbol at every place, or one size for numbers."""
    if side.numbers is not None:
        return 2.1 if several else 2.9
    return min(max(0.19 * len(side), 1.1), 4.5)


def _ink(side: Axis) -> float:
    """Inches that the widest tick label takes."""
    return 0.065 * max(map(len, side.symbols), default=2) + 0.06


def _standing(one: Map, width: float) -> float:
    """Inches below a map for its tick labels, which stand upright where they would collide."""
    ink = _ink(one.columns)
    return ink if one.columns.symbols and ink > width / len(one.columns) else LINE


def _row_title(example: int, batch: int, layer: int, layers: int) -> str:
    parts = [f"example {example + 1}"] if batch > 1 else []
    return "\n".join([*parts, f"layer {layer + 1}"] if layers > 1 else parts)


def _subtitle(run: StoredRun, attention: Attention, name: str) -> str:
    parts = [f"{name} attention", run.primary]
    if "alignment" in attention.batch and name == attention.main:
        parts.append("outlined: gold position")
    return ", ".join(filter(None, parts))
