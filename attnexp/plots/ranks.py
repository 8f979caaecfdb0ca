"""The picture of rows over data sets: their mean ranks, and which are not told apart."""

from collections.abc import Sequence
from typing import Any

from attnexp.core.errors import RequestError
from attnexp.core.language import capitalized, joined, said, translate
from attnexp.plots.base import Figures, Options
from attnexp.plots.lines import runs_of
from attnexp.plots.style import (
    FAINT,
    HEAD,
    PALETTE,
    ROWS,
    below_title,
    new_figure,
    text_width,
    wrapped,
)
from attnexp.select.configurations import Comparison, differing_data
from attnexp.select.frame import make_frame
from attnexp.select.number import with_numbers
from attnexp.stats.sequential import FEWEST
from attnexp.tables.entries import TableRequest
from attnexp.tables.over import TasksTable, over_tasks

ROW, AXIS, SET = 0.3, 4.0, 0.04
"""Inches of a row and of the axis, and the distance of two sets as a share of the axis."""

NAMES = 2.6
"""The most inches that names take."""


def draw_ranks(comparisons: Sequence[Comparison], options: Options) -> Figures:
    """Yield the mean rank of each row over data sets, as in `attnexp results --over data`.

    The best row is first. Each line at the side is a largest set of rows of which no two are told
    apart (after Demsar 2006), with a square at each row of the set. There is no picture with fewer
    data sets than can decide, or if the table is refused.
    """
    try:
        table = _table(comparisons, options)
    except RequestError:
        return
    compared = table.compared
    rows = {row: rank for row in table.entries if (rank := compared.ranks[row]) is not None}
    if len(table.tasks) < FEWEST or len(rows) < 2:
        return
    labels = [wrapped(table.name(row), NAMES) for row in rows]
    wide = max(text_width(line, 8) for label in labels for line in label.splitlines())
    title = translate(capitalized(said("mean rank")))
    sets = said("{what}: {text}", what=said("data sets"), text=str(len(table.tasks)))
    bars = said("{what}: {text}", what=said("bars"), text=said("tied"))
    subtitle = translate(joined(said("; "), [sets, bars]))
    figure = new_figure(wide + AXIS, HEAD + max(ROW * len(rows) + 0.6, 1.2), title, subtitle)
    below_title(figure)
    axes = figure.add_subplot()
    places, ranks, order = range(len(rows)), [*rows.values()], [*rows]
    axes.hlines(places, 1, ranks, color=FAINT, linewidth=1.5)
    axes.plot(ranks, places, "o", color=PALETTE[0], markersize=6.5, clip_on=False)
    beside: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "clip_on": False}
    for number, tied in enumerate(compared.tied):
        at = [order.index(row) for row in tied]
        x = [1.04 + SET * number] * len(at)
        axes.plot(x, at, "s-", color=PALETTE[0], markersize=6, linewidth=2, **beside)
    axes.set_gid(ROWS)
    axes.set_yticks(places, labels)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(1, len(rows))
    axes.set_xlabel(translate(said("mean rank")))
    yield "ranks", figure


def _table(comparisons: Sequence[Comparison], options: Options) -> TasksTable:
    """Return the table of ranks over the data sets. Raises RequestError as `over_tasks`."""
    runs = [run for comparison in comparisons for run in runs_of(comparison)]
    asked = [options.metric] if options.metric else []
    frame = with_numbers(make_frame(runs, options.style.names), asked)
    metrics = tuple(name for name in asked if name in frame.metrics)
    return over_tasks(frame, differing_data(frame), TableRequest(metrics=metrics))
