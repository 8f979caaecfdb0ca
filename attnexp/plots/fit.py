"""The picture of a fitted curve."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from attnexp.plots.fitted import curve
from attnexp.plots.style import FAINT, INK, line_styles, name_lines, new_figure, plot_axes
from attnexp.runs.run import Run


def draw_fit(run: Run) -> Figure:
    """The truth, the prediction, and the training points, which carry noise."""
    figure = new_figure(5.6, 3.7, run.title, run.primary)
    axes = plot_axes(figure)
    scatter(axes, run)
    x, truth, prediction = curve(run)
    draw_truth(axes, x, truth)
    axes.plot(x, prediction, linewidth=2, label="prediction", **line_styles(1)[0])
    axes.set_xlabel("x")
    axes.set_ylabel("y")
    name_lines(axes)
    return figure


def scatter(axes: Axes, run: Run) -> None:
    """The training points of the first example."""
    axes.scatter(
        run.attention.batch["keys"][0, :, 0],
        run.attention.batch["values"][0, :, 0],
        s=14,
        facecolors="none",
        edgecolors=FAINT,
        linewidths=0.9,
        label="training points",
    )


def draw_truth(axes: Axes, x: NDArray[np.float64], truth: NDArray[np.float64]) -> None:
    """The curve without noise."""
    axes.plot(x, truth, color=INK, linewidth=1.1, linestyle=(0, (4, 2)), label="truth")
