"""The picture of fitted curves."""

import numpy as np

from attnexp.core.language import say
from attnexp.plots.base import Figures, Options
from attnexp.plots.charts import chart_of_fit
from attnexp.plots.lines import held_out_points, responses
from attnexp.plots.response_curves import TESTED, TRAINED, draw_partial, draw_points, draw_surface
from attnexp.plots.style import chart_axes, draw_chart
from attnexp.select.configurations import Comparison


def draw_fit(comparison: Comparison, options: Options) -> Figures:
    """Yield the predictions of each configuration, with the truth, or the test points of a table.

    A line over several seeds is their mean, with a band or bars from the smallest to the largest.
    The training points are drawn if all runs have the same ones.

    The prediction of a run of a table with two inputs is a surface. With more inputs, there is a
    curve for each input while the others are at their medians. Runs of such tables are not
    compared.
    """
    alone, chart = comparison.alone, chart_of_fit(comparison)
    if chart is None:
        if alone and (curves := responses(alone)):
            several = len(curves) > 1
            yield "fit", draw_partial(alone, curves) if several else draw_surface(alone, curves[0])
        return
    figure, axes, lines = chart_axes(comparison, chart)
    if chart.points:
        draw_points(axes, np.stack(chart.points), TRAINED)
    if alone and chart.curves[0].place is not None:
        draw_points(axes, held_out_points(alone), TESTED)
    draw_chart(axes, chart, [(name or say("prediction"), line) for name, line in lines])
    yield "fit", figure
