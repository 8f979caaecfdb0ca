"""The picture of fitted curves."""

from attnexp.plots.base import Figures, Options
from attnexp.plots.lines import (
    compared_curves,
    has_fit,
    held_out_points,
    responses,
    runs_of,
    training_points,
)
from attnexp.plots.response_curves import TESTED, TRAINED, draw_partial, draw_points, draw_surface
from attnexp.plots.style import INK, draw_band, line_axes, lines_of, name_lines
from attnexp.runs.attention import same_examples
from attnexp.select.configurations import Comparison


def draw_fit(comparison: Comparison, options: Options) -> Figures:
    """Yield the truth, or the test points of a table, and the prediction of each configuration.

    With several seeds, a line is the mean over the seeds and its band reaches from the smallest to
    the largest; the training points are drawn if all runs have the same ones. Of a table with two
    inputs the prediction of a run is a surface; of one with more, a curve for each input, the
    others held at their medians; runs of such tables are not compared.
    """
    runs, alone = runs_of(comparison), comparison.alone
    first = runs[0]
    if not all(has_fit(run) for run in runs):
        if alone and (curves := responses(alone)):
            several = len(curves) > 1
            yield "fit", draw_partial(alone, curves) if several else draw_surface(alone, curves[0])
        return
    figure, axes = line_axes(comparison, "Fit")
    x, truth, predictions = compared_curves(comparison)
    if all(same_examples(first.attention, run.attention) for run in runs[1:]):
        draw_points(axes, training_points(first), TRAINED)
    if truth is not None:
        axes.plot(x, truth, color=INK, linewidth=1.1, linestyle=(0, (4, 2)), label="truth")
    elif alone:
        draw_points(axes, held_out_points(first), TESTED)
    for i, (_, name, line) in enumerate(lines_of(comparison)):
        if i in predictions:
            draw_band(axes, x, predictions[i], name or "prediction", line)
    axes.set_xlabel(next(iter(first.attention.x_names), "x"))
    axes.set_ylabel(first.attention.y_name or "y")
    name_lines(axes)
    yield "fit", figure
