"""The picture of the test error against the number of training points."""

from collections.abc import Mapping, Sequence

import numpy as np

from attnexp.core.language import capitalized, said, translate
from attnexp.plots.base import Figures, Options
from attnexp.plots.charts import CurveChart, SeedCurve, common
from attnexp.plots.lines import runs_of
from attnexp.plots.style import bands_of, draw_chart, labelled, line_axes
from attnexp.runs.folder import Run
from attnexp.runs.settings import without
from attnexp.select.configurations import Comparison

SEVERAL = 3
"""The fewest numbers of training points that show a rate."""

ERROR, RATE = "test_mse", -3 / 4
"""The error that is shown, and the power of n at which it falls with the best width.

A kernel average of a smooth curve has a bias of h^2 inside an interval and of h within h of its
ends, and a variance of 1 / (n h). The mean over the interval is h^3 + 1 / (n h) at best: h is in
proportion to n^(-1/4) and the error to n^(-3/4). Inside alone the error falls as n^(-4/5), at an
end as n^(-2/3) (Fan and Gijbels 1996)."""


def compare_sizes(comparisons: Sequence[Comparison], options: Options) -> Figures:
    """Yield the test error against the number of training points, on logarithmic axes.

    A line is a scoring function: the mean over the seeds that have all its sizes, with a band from
    the smallest to the largest. Of several runs with the same size and seed, such as with several
    widths, the one with the lowest leave-one-out error counts. A dashed line is n^(-3/4) through
    the first point of the first line.
    """
    runs = [run for comparison in comparisons for run in runs_of(comparison)]
    models = {name: table for name, table in _by_model(runs).items() if len(table) >= SEVERAL}
    data = [without(run.group("data"), {"num_train"}) for run in runs]
    if not models or any(each != data[0] for each in data):
        return
    curves = []
    for place, (name, table) in enumerate(models.items()):
        sizes = np.array(sorted(table), np.float64)
        _, errors = common([table[size] for size in sorted(table)])
        curves.append(SeedCurve(options.style.names(name), place, sizes, errors.T))
    sizes, errors = curves[0].x, curves[0].values
    rate = errors.mean(axis=0)[:1] * (sizes / sizes[0]) ** RATE
    title = said(
        "{shown} on {data}", shown=capitalized(said("test error")), data=runs[0].choices["data"]
    )
    names = said("number of training points n"), said("test error")
    known = SeedCurve("n^(-3/4)", None, sizes, rate[None])
    chart = CurveChart(title, *names, [*curves, known], log=True, log_x=True)
    figure, axes = line_axes(translate(title), bands_of(comparisons[0], len(curves)))
    draw_chart(axes, chart, labelled(curves))
    axes.set_xticks(sizes, [f"{size:,g}" for size in sizes])
    yield "consistency", figure


def _by_model(runs: Sequence[Run]) -> Mapping[str, Mapping[int, Mapping[int, float]]]:
    """Return the error of the best run by scoring function, by number of points, and by seed."""
    tables: dict[str, dict[int, dict[int, float]]] = {}
    for run in sorted(runs, key=lambda run: -run.metrics.get("loo_mse", np.inf)):
        size = run.group("data").get("num_train")
        if isinstance(size, int) and ERROR in run.metrics:
            tables.setdefault(run.model, {}).setdefault(size, {})[run.seed] = run.metrics[ERROR]
    return tables
