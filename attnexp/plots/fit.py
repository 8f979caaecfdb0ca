"""Pictures of fitted curves: of a run, and of configurations compared."""

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from attnexp.plots.base import Figures, Options
from attnexp.plots.lines import (
    compared_curves,
    fitted_curve,
    has_fit,
    held_out_points,
    names_of,
    responses,
    runs_of,
    training_points,
)
from attnexp.plots.response import TESTED, TRAINED, draw_partial, draw_points, draw_surface
from attnexp.plots.style import (
    INK,
    bands_of,
    draw_band,
    line_styles,
    name_lines,
    new_figure,
    plot_axes,
)
from attnexp.runs.attention_maps import same_examples
from attnexp.runs.run import Run

if TYPE_CHECKING:
    from attnexp.runs.configurations import Comparison


def draw_fit(run: Run, options: Options) -> Figures:
    """Yield the prediction, the training points, and the truth, or the test points of a table.

    Of a table with two inputs the prediction is a surface; of one with more, a curve for each
    input, the others held at their medians.
    """
    if not has_fit(run):
        if curves := responses(run):
            yield (
                "fit",
                draw_surface(run, curves[0]) if len(curves) == 1 else draw_partial(run, curves),
            )
        return
    figure = new_figure(5.6, 3.7, run.title, run.primary)
    x, truth, prediction = fitted_curve(run)
    axes = _axes(figure, run, training_points(run), x, truth)
    if truth is None:
        draw_points(axes, held_out_points(run), TESTED)
    axes.plot(x, prediction, linewidth=2, label="prediction", **line_styles(1)[0])
    name_lines(axes)
    yield "fit", figure


def compare_fits(comparison: "Comparison", options: Options) -> Figures:
    """Yield the truth and the prediction of every configuration, a colour each.

    With several seeds, a line is the mean over the seeds and its band reaches from the smallest to
    the largest; the training points are drawn where all runs have the same ones. Of tables with
    several inputs nothing is drawn.
    """
    runs = runs_of(comparison)
    if not all(has_fit(run) for run in runs):
        return
    figure = new_figure(5.6, 4.2, f"Fit{comparison.scope}", bands_of(comparison))
    shared = all(same_examples(runs[0].attention, run.attention) for run in runs[1:])
    x, truth, predictions = compared_curves(comparison)
    axes = _axes(figure, runs[0], training_points(runs[0]) if shared else None, x, truth)
    looks, names = line_styles(len(comparison.configurations)), names_of(comparison)
    for place, values in predictions.items():
        draw_band(axes, x, values, names[place], looks[place])
    name_lines(axes, beside=True)
    yield "fit", figure


def _axes(
    figure: Figure,
    run: Run,
    points: NDArray[np.float64] | None,
    x: NDArray[np.float64],
    truth: NDArray[np.float64] | None,
) -> Axes:
    """Return axes with the training points, where they are given, and the curve without noise."""
    axes = plot_axes(figure)
    if points is not None:
        draw_points(axes, points, TRAINED)
    if truth is not None:
        axes.plot(x, truth, color=INK, linewidth=1.1, linestyle=(0, (4, 2)), label="truth")
    axes.set_xlabel(next(iter(run.attention.x_names), "x"))
    axes.set_ylabel(run.attention.y_name or "y")
    return axes
