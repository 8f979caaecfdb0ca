"""The picture of the test error against the number of training points."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.ticker import NullFormatter
from numpy.typing import NDArray

from attnexp.core.language import said, say
from attnexp.plots.base import Figures, Options
from attnexp.plots.lines import runs_of
from attnexp.plots.style import (
    INK,
    bands_of,
    draw_band,
    line_styles,
    log_axis,
    name_lines,
    new_figure,
    plot_axes,
)
from attnexp.runs.folder import Run
from attnexp.runs.settings import without
from attnexp.select.configurations import Comparison

SEVERAL = 3
"""The fewest sizes that show a rate."""

ERROR, RATE = "test_mse", -3 / 4
"""The error that is shown, and the power of n at which it falls with the best width.

A kernel average of a smooth curve has a bias of h^2 inside an interval and of h within h of its
ends, and a variance of 1 / (n h). The mean over the interval is h^3 + 1 / (n h) at best: h is in
proportion to n^(-1/4) and the error to n^(-3/4). Inside alone the error falls as n^(-4/5), at an
end as n^(-2/3) (Fan and Gijbels 1996)."""


def compare_sizes(comparisons: Sequence[Comparison], options: Options) -> Figures:
    """Yield the test error against the number of training points on logarithmic axes.

    A line is a scoring function: the mean over the seeds, and a band from the smallest to the
    largest, at the sizes that all its seeds have. Of several runs with the same size and seed, such
    as several widths, the one with the lowest leave-one-out error counts. Next to them is n^(-3/4)
    through the first point of the first line.
    """
    runs = [run for comparison in comparisons for run in runs_of(comparison)]
    models = {name: table for name, table in _by_model(runs).items() if len(table) >= SEVERAL}
    data = [without(run.group("data"), {"num_train"}) for run in runs]
    if not models or any(each != data[0] for each in data):
        return
    lines = {name: _line(table) for name, table in models.items()}
    title = say("{shown} on {data}", shown=said("Consistency"), data=runs[0].choices["data"])
    figure = new_figure(5.6, 3.9, title, bands_of(comparisons[0], len(lines)))
    axes = plot_axes(figure)
    styled = zip(lines.items(), line_styles(len(lines)), strict=True)
    for place, ((name, points), line) in enumerate(styled):
        draw_band(axes, *points, options.style.names(name), line, place, len(lines))
    sizes, errors = next(iter(lines.values()))
    rate = errors.mean(axis=0)[0] * (sizes / sizes[0]) ** RATE
    axes.plot(sizes, rate, color=INK, linestyle=(0, (4, 2)), linewidth=1.1, label="n^(-3/4)")
    axes.set_xscale("log")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xticks(sizes, [f"{size:,g}" for size in sizes])
    log_axis(axes, "y", np.concatenate([errors.ravel() for _, errors in lines.values()]))
    axes.set_xlabel(say("number of training points n"))
    axes.set_ylabel(say("test error"))
    name_lines(axes)
    yield "consistency", figure


def _by_model(runs: Sequence[Run]) -> Mapping[str, Mapping[int, Mapping[int, float]]]:
    """Return the error of the best run by scoring function, number of points and seed."""
    tables: dict[str, dict[int, dict[int, float]]] = {}
    for run in sorted(runs, key=lambda run: -run.metrics.get("loo_mse", np.inf)):
        size = run.group("data").get("num_train")
        if isinstance(size, int) and ERROR in run.metrics:
            tables.setdefault(run.model, {}).setdefault(size, {})[run.seed] = run.metrics[ERROR]
    return tables


def _line(
    table: Mapping[int, Mapping[int, float]],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sizes in ascending order, and the errors, a row per seed that has all sizes."""
    seeds = set.intersection(*map(set, table.values()))
    sizes = sorted(table)
    rows = [[table[size][seed] for size in sizes] for seed in sorted(seeds)]
    return np.array(sizes, np.float64), np.array(rows, np.float64)
