"""The picture of fitted curves."""

from attnexp.core.language import said, say
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
from attnexp.plots.style import INK, best_of, draw_band, line_axes, lines_of, name_lines
from attnexp.runs.attention import same_examples
from attnexp.select.configurations import Comparison


def draw_fit(comparison: Comparison, options: Options) -> Figures:
    """Yield the truth, or the test points of a table, and the prediction of each configuration.

    With several seeds, a line is the mean over the seeds and its band or bars reach from the
    smallest to the largest; the training points are drawn if all runs have the same ones. Of a
    table with two inputs the prediction of a run is a surface; of one with more, a curve for each
    input, the others held at their medians; runs of such tables are not compared.
    """
    runs, alone = runs_of(comparison), comparison.alone
    first = runs[0]
    if not all(has_fit(run) for run in runs):
        if alone and (curves := responses(alone)):
            several = len(curves) > 1
            yield "fit", draw_partial(alone, curves) if several else draw_surface(alone, curves[0])
        return
    x, truth, predictions = compared_curves(comparison)
    lines = lines_of(comparison)
    predicted = best_of([lines[i] for i in predictions])
    figure, axes = line_axes(comparison, said("Fit"), len(predicted))
    if all(same_examples(first.attention, run.attention) for run in runs[1:]):
        draw_points(axes, training_points(first), TRAINED)
    if truth is not None:
        axes.plot(x, truth, color=INK, linewidth=1.1, linestyle=(0, (4, 2)), label=say("truth"))
    elif alone:
        draw_points(axes, held_out_points(first), TESTED)
    drawn = zip(predicted, predictions.values(), strict=True)
    for place, ((_, name, line), values) in enumerate(drawn):
        draw_band(axes, x, values, name or say("prediction"), line, place, len(predicted))
    axes.set_xlabel(next(iter(first.attention.x_names), "x"))
    axes.set_ylabel(first.attention.y_name or "y")
    name_lines(axes)
    yield "fit", figure
