"""The picture of a number: a dot per seed of each configuration, the mean and its interval."""

from collections.abc import Sequence

import numpy as np
from matplotlib.ticker import MaxNLocator

from attnexp.core.language import said, translate
from attnexp.plots.base import Figures, Options
from attnexp.plots.lines import runs_of, spread_over_powers
from attnexp.plots.style import (
    FAINT,
    HEAD,
    PALETTE,
    ROWS,
    below_title,
    lines_of,
    log_axis,
    new_figure,
    seed_of,
    text_width,
    title_of,
    wrapped,
)
from attnexp.select.configurations import Comparison
from attnexp.select.frame import make_frame
from attnexp.select.number import numbers_of, require_number
from attnexp.select.sample import Sample, sample_of
from attnexp.stats.scaled import mean

ROW, AXIS = 0.3, 4.0
"""Inches of a row, and of the axis."""

BELOW = 0.24
"""How far below the middle of their row seeds are drawn, in rows."""

TICKS = 4
"""The most steps of a linear axis, so that long numbers do not touch."""

NAMES = 2.6
"""The most inches that names take."""

SEEDED = said("small: a seed; large: the mean, with its 95% interval")


def draw_metric(comparison: Comparison, options: Options) -> Figures:
    """Yield a number of each configuration: the primary metric, or the one that is asked for.

    Rows are in the order of the table, the best first. A small dot is a seed, a large dot the mean,
    and the line next to it the 95% interval, as in the table. A single row is not drawn. Positive
    numbers that span a power of ten have a logarithmic axis, unless an interval reaches 0.
    """
    runs = runs_of(comparison)
    number = runs[0].summary.primary
    if options.metric in numbers_of(runs):
        number = options.metric
    if number is None or len(comparison.configurations) == 1:
        return
    rows = [
        (name, sample_of(require_number(make_frame(one.runs), number), number))
        for one, name, _ in lines_of(comparison)
        if number in numbers_of(one.runs)
    ]
    rows = _best_first(rows)
    names = [wrapped(name, NAMES) for name, _ in rows]
    wide = max((text_width(line, 8) for name in names for line in name.splitlines()), default=0.0)
    tall = sum(ROW * max(1.0, 0.6 * (name.count("\n") + 1)) for name in names) + 0.6
    shown = options.style.names.title(number)
    title = title_of(comparison, shown)
    seeded = any(sample.spread.n > 1 for _, sample in rows)
    subtitle = SEEDED if seeded else seed_of(comparison)
    figure = new_figure(wide + AXIS, HEAD + max(tall, 1.2), title, translate(subtitle))
    below_title(figure)
    axes = figure.add_subplot()
    for place, (_, sample) in enumerate(rows):
        spread = sample.spread
        if spread.n > 1:
            ends = np.array(spread.interval, np.float64)
            axes.plot(sample.means, [place + BELOW] * spread.n, "o", color=FAINT, markersize=3.5)
            axes.plot(ends, [place, place], color=PALETTE[0], linewidth=2)
        axes.plot(mean(sample.means), place, "o", color=PALETTE[0], markersize=6.5)
    spreads = [sample.spread for _, sample in rows]
    if spread_over_powers(spreads):
        numbers = [number for each in spreads for number in (*each.values, *each.interval)]
        log_axis(axes, "x", np.array(numbers, np.float64))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(TICKS))
    axes.set_gid(ROWS)
    axes.set_yticks(range(len(rows)), names)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel(shown)
    yield "metric", figure


def _best_first(rows: Sequence[tuple[str, Sample]]) -> list[tuple[str, Sample]]:
    descending = rows[0][1].better == "higher"
    return sorted(rows, key=lambda row: mean(row[1].means), reverse=descending)
