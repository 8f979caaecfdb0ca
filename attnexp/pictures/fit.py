"""The picture of a fitted curve."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from attnexp import record
from attnexp.errors import RequestError
from attnexp.pictures.canvas import FAINT, INK, line_styles, name_lines, new_figure, plot_axes
from attnexp.pictures.stored import StoredRun


def has_fit(run: StoredRun) -> bool:
    """Whether the run predicted a curve: one x, and the training points are stored."""
    batch = run.attention.batch
    curve = not run.attention.source_vocab and "values" in batch and batch["keys"].shape[-1] == 1
    return curve and bool(run.predictions)


def draw_fit(run: StoredRun) -> Figure:
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


def curve(
    run: StoredRun,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """x, truth and prediction of the first example, in order of x.

    Raises RequestError where the file does not hold them.
    """
    count = run.attention.batch["queries"].shape[1]
    names = ("x", "truth", "prediction")
    try:
        rows = np.array([[float(row[name]) for name in names] for row in run.predictions[:count]])
    except (KeyError, TypeError, ValueError):
        raise RequestError(
            f"{run.folder / record.PREDICTIONS} does not hold numbers for {', '.join(names)}"
        ) from None
    x, truth, prediction = rows[np.argsort(rows[:, 0], kind="stable")].T
    return x, truth, prediction


def scatter(axes: Axes, run: StoredRun) -> None:
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
