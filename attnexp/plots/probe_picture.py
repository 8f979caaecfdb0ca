"""The picture of interventions: the metric under each one, and the effect of each head."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from attnexp.core.language import joined, said, say, translate
from attnexp.plots.base import Figures, Options
from attnexp.plots.picture_style import Style
from attnexp.plots.style import (
    FAINT,
    HEAD,
    MARKERS,
    NAME,
    ROWS,
    Line,
    below_title,
    lines_of,
    new_figure,
    text_width,
    title_of,
)
from attnexp.runs.probed import HIGH, LEARNED, LOW, head_of, on_test
from attnexp.select.configurations import Comparison, Configuration
from attnexp.stats.scaled import mean

ROW, CELL = 0.24, 0.5
"""Inches of a row of the left panel, and of a cell of the grid of heads."""

Numbers = Mapping[str, Mapping[str, float]]
"""The numbers of a run by intervention."""

Shown = tuple[Configuration, str, Line, Sequence[Numbers]]


def draw_interventions(comparison: Comparison, options: Options) -> Figures:
    """Yield the primary metric under each intervention, and its change when a head is taken out.

    A dot is the mean over the seeds of a configuration. Its line is the interval over examples for
    one run, and the range over the seeds for several. The dashed line is the metric with the
    learned weights. If single heads of one configuration were taken out, each part has a grid with
    a row for each layer and a column for each head, unless nothing else was probed.
    """
    probed = [
        (one, name, line, numbers)
        for one, name, line in lines_of(comparison)
        if (numbers := [on_test(run.interventions) for run in one.runs if run.interventions])
    ]
    if not probed:
        return
    metric = str(probed[0][0].runs[0].summary.primary)
    runs = [run for _, _, _, numbers in probed for run in numbers]
    common = [name for name in runs[0] if all(metric in run.get(name, {}) for run in runs)]
    names = [name for name in common if name != LEARNED]
    if not names:
        return
    heads = {name: head for name in names if (head := head_of(name)) is not None}
    rows = [name for name in names if name not in heads]
    grids = _grids(runs, metric, heads) if len(probed) == 1 else {}
    if not grids or not rows:
        grids, rows = {}, names
    labels = [label for _, label, _, _ in probed]
    parts, shown = [said("dashed: with the learned weights")], options.style.names.title(metric)
    if grids:
        parts.append(said("squares: change of {metric} when the head is taken out", metric=shown))
    below = translate(joined(said("; "), parts))
    heads_across = _grids_across(grids, options.style)
    title = title_of(comparison, said("Interventions"))
    figure, axes, squares = _figure(title, below, rows, labels, grids, heads_across)
    _draw_dots(axes, probed, metric, rows)
    axes.set_gid(ROWS)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel(shown)
    axes.grid(axis="y", color=FAINT, alpha=0.25, linewidth=0.6)
    end = max((float(np.nanmax(np.abs(grid))) for grid in grids.values()), default=0.0)
    for (part, changes), square in zip(grids.items(), squares, strict=True):
        _draw_heads(square, part, changes, end or 1.0)
    yield "interventions", figure


def _grids(
    numbers: Sequence[Numbers], metric: str, heads: Mapping[str, tuple[str, int, int]]
) -> dict[str, NDArray[np.float64]]:
    """Return the mean change of the metric by layer and head, for each part; NaN if unknown."""
    grids = {}
    for part in dict.fromkeys(part for part, _, _ in heads.values()):
        own = {name: at for name, at in heads.items() if at[0] == part}
        layers = max(layer for _, layer, _ in own.values())
        grid = np.full((layers, max(head for _, _, head in own.values())), np.nan)
        for name, (_, layer, head) in own.items():
            grid[layer - 1, head - 1] = mean(
                run[name][metric] - run[LEARNED][metric] for run in numbers
            )
        grids[part] = grid
    return grids


def _grids_across(grids: Mapping[str, NDArray[np.float64]], style: Style) -> int:
    """Return how many grids are next to each other: all of them, or as many as fit in the width."""
    if style.width is None or style.shape is not None:
        return max(len(grids), 1)
    widest = max((_wide(grid) for grid in grids.values()), default=1.0)
    return min(max(int(style.width / widest), 1), max(len(grids), 1))


def _wide(grid: NDArray[np.float64]) -> float:
    return CELL * grid.shape[1] + 0.8


def _figure(
    title: str,
    subtitle: str,
    rows: Sequence[str],
    labels: Sequence[str],
    grids: Mapping[str, NDArray[np.float64]],
    across: int,
) -> tuple[Figure, Axes, Sequence[Axes]]:
    wide = 3.4 + max((text_width(name, 8) for name in rows), default=1.0)
    if len(labels) > 1:
        wide += 0.6 + min(max(text_width(label, 8.5) for label in labels), NAME)
    dots = max(len(rows), 2) * ROW * max(1.0, 0.5 * len(labels)) + 0.6
    squares = max((CELL * grid.shape[0] + 0.9 for grid in grids.values()), default=0.0)
    down = -(-len(grids) // across)
    wides = [_wide(grid) for grid in grids.values()]
    widths = [max(wides[i::across], default=0.0) for i in range(across)]
    figure = new_figure(max(wide, sum(widths)), HEAD + dots + down * squares, title, subtitle)
    below_title(figure)
    if not grids:
        return figure, figure.add_subplot(), []
    heights = [dots, *[squares] * down]
    spec = figure.add_gridspec(1 + down, across, height_ratios=heights, width_ratios=widths)
    places = [figure.add_subplot(spec[1 + i // across, i % across]) for i in range(len(grids))]
    return figure, figure.add_subplot(spec[0, :]), places


def _draw_dots(axes: Axes, probed: Sequence[Shown], metric: str, rows: Sequence[str]) -> None:
    """Draw the metric under each intervention, the configurations below each other in its row."""
    for place, (_, label, line, numbers) in enumerate(probed):
        below = (place - (len(probed) - 1) / 2) * 0.6 / len(probed)
        colour, marker = line["color"], MARKERS[1 + place % (len(MARKERS) - 1)]
        learned = mean(run[LEARNED][metric] for run in numbers)
        axes.axvline(learned, color=colour, linewidth=0.9, linestyle=(0, (4, 2)))
        for row, name in enumerate(rows):
            values = [run[name][metric] for run in numbers]
            low, high = min(values), max(values)
            if len(values) == 1 and (ends := _interval(numbers[0], name, metric)) is not None:
                low, high = ends
            axes.plot([low, high], [row + below] * 2, color=colour, linewidth=1.6, alpha=0.45)
            named = "" if row or len(probed) == 1 else label
            axes.plot(mean(values), row + below, marker, color=colour, markersize=4.5, label=named)


def _interval(run: Numbers, name: str, metric: str) -> tuple[float, float] | None:
    """Return the interval over examples of a metric, from those of its change; None without one."""
    low, high = (run[name].get(metric + end) for end in (LOW, HIGH))
    learned = run[LEARNED][metric]
    return None if low is None or high is None else (learned + low, learned + high)


def _draw_heads(axes: Axes, part: str, changes: NDArray[np.float64], end: float) -> None:
    """Draw the metric's change when each head is taken out, with its number, red for a fall."""
    axes.imshow(changes, cmap="RdBu", vmin=-end, vmax=end, aspect="auto")
    for (layer, head), change in np.ndenumerate(changes):
        if not np.isnan(change):
            strong = abs(change) > 0.6 * end
            text = f"{change:+.2g}" if change else "0"
            axes.text(
                head, layer, text, ha="center", va="center", fontsize=7,
                color="white" if strong else "black",
            )  # fmt: skip
    layers, heads = changes.shape
    axes.set_xticks(range(heads), map(str, range(1, heads + 1)))
    axes.set_yticks(range(layers), map(str, range(1, layers + 1)))
    axes.set_title(part, fontsize=8.5, pad=4)
    axes.set_xlabel(say("head"))
    axes.set_ylabel(say("layer"))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
