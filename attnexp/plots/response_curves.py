"""Pictures of how the predictions for a table depend on several inputs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from attnexp.core.language import Phrase, joined, said, say, translate
from attnexp.plots.lines import Response, held_out_points, training_points
from attnexp.plots.style import (
    FAINT,
    HEAD,
    INK,
    line_styles,
    new_figure,
    panels,
)
from attnexp.runs.folder import Run

MOST_INPUTS, ACROSS = 12, 3
"""The most panels of a picture, and the most in a row."""

Style = Mapping[str, Any]

TRAINED: Style = {
    "s": 14,
    "facecolors": "none",
    "edgecolors": FAINT,
    "linewidths": 0.9,
    "label": said("training points"),
}
TESTED: Style = {"s": 9, "color": INK, "linewidths": 0, "label": said("test points")}
ON_SURFACE: Style = {"s": 22, "edgecolors": "white", "linewidths": 0.8, "clip_on": False}
"""The style of training points, of test points, and of both on a surface."""


def draw_points(axes: Axes, points: NDArray[np.float64], style: Style, x: int = 0) -> None:
    """Draw points by their input number `x` and by y, the last column of `points`."""
    axes.scatter(points[:, x], points[:, -1], **{**style, "label": translate(style["label"])})


def draw_surface(run: Run, surface: Response) -> Figure:
    """Return the prediction over two inputs as colours, with points in the colour of their y."""
    x_names, y_name = run.attention.x_names, run.attention.y_name
    figure = new_figure(5.9, 4.7, run.title, run.primary)
    ((axes,),) = panels(figure)
    first, second = (np.unique(surface.x[:, i]) for i in range(2))
    z = surface.prediction.reshape(len(first), len(second)).T
    trained, tested = training_points(run), held_out_points(run)
    y = np.concatenate([surface.prediction, trained[:, -1], tested[:, -1]])
    style: dict[str, Any] = {"norm": Normalize(y.min(), y.max()), "cmap": "viridis"}
    drawn = axes.pcolormesh(first, second, z, shading="nearest", rasterized=True, **style)
    for points, marker, of in ((trained, "o", TRAINED), (tested, "D", TESTED)):
        named = say("{y} of {points}", y=y_name, points=of["label"])
        x, y, colours = points.T
        axes.scatter(x, y, c=colours, marker=marker, label=named, zorder=3, **ON_SURFACE, **style)
    axes.set_xlabel(x_names[0])
    axes.set_ylabel(x_names[1])
    figure.colorbar(drawn, ax=axes, label=y_name, fraction=0.06).outline.set_visible(False)
    names = axes.legend(loc="upper left", bbox_to_anchor=(0, -0.14), ncols=2, borderaxespad=0)
    for mark in names.legend_handles:
        assert isinstance(mark, PathCollection)
        mark.set(array=None, facecolor="none", edgecolor=INK)
    return figure


def draw_partial(run: Run, curves: Sequence[Response]) -> Figure:
    """Return a panel for each input: the prediction along it, the others at their medians.

    If there are more than MOST_INPUTS inputs, those that change the prediction most are shown.
    """
    changes = [np.ptp(curve.prediction) for curve in curves]
    shown = sorted(np.argsort(changes)[::-1][:MOST_INPUTS].tolist())
    parts: list[Phrase] = [run.primary] if run.primary else []
    parts.append(said("the other inputs at their medians"))
    if len(shown) < len(curves):
        counts = {"shown": len(shown), "count": len(curves)}
        parts.append(said("the {shown} of {count} inputs that change it most", **counts))
    rows, across = -(-len(shown) // ACROSS), min(len(shown), ACROSS)
    size = 2.5 * across + 1.9, 2.5 * rows + HEAD
    figure = new_figure(*size, run.title, translate(joined(said("; "), parts)))
    grid = panels(figure, rows, across, sharey=True)
    trained, tested = training_points(run), held_out_points(run)
    for axes, at in zip(grid.flat, shown, strict=False):
        draw_points(axes, trained, TRAINED, at)
        draw_points(axes, tested, TESTED, at)
        own = curves[at]
        axes.plot(
            own.x[:, at], own.prediction, linewidth=2, label=say("prediction"), **line_styles(1)[0]
        )
        axes.set_xlabel(own.varied)
    for empty in grid.flat[len(shown) :]:
        empty.set_axis_off()
    for first in grid[:, 0]:
        first.set_ylabel(run.attention.y_name)
    for unnamed in [*grid[0, :-1], *grid[1:].flat]:
        for artist in unnamed.get_legend_handles_labels()[0]:
            artist.set_label("")
    return figure
