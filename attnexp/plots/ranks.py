"""The picture of rows over data sets: their mean ranks, and which are not told apart."""

from collections.abc import Sequence
from typing import Any

from attnexp.core.language import capitalized, joined, said, translate
from attnexp.plots.base import Figures, Options
from attnexp.plots.lines import names_of, runs_of
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
from attnexp.select.configurations import Comparison
from attnexp.select.frame import make_frame
from attnexp.select.number import numbers_of, require_number
from attnexp.select.sample import Sample, sample_of, with_diverged
from attnexp.select.tasks import OverTasks
from attnexp.stats.sequential import FEWEST

ROW, AXIS, GROUP = 0.3, 4.0, 0.03
"""Inches of a row and of the axis, and the distance of two groups as a share of the axis."""

JUTS = 0.2
"""How far a line of a group juts out over its rows, in rows."""

NAMES = 2.6
"""The most inches that names take."""


def draw_ranks(comparisons: Sequence[Comparison], options: Options) -> Figures:
    """Yield the mean rank of each configuration over data sets, the best first.

    Vertical lines join rows next to each other of which no two are told apart over data sets, as in
    the tables of `attnexp results --over data` (after Demsar 2006). Data sets are as many as can
    decide, or there is no picture. Each has its primary metric, or the one asked for.
    """
    named = [samples for each in comparisons if (samples := _samples(each, options.metric))]
    names = list(dict.fromkeys(name for samples in named for name in samples))
    if len(named) < FEWEST or len(names) < 2:
        return
    tasks = [{names.index(name): own for name, own in samples.items()} for samples in named]
    compared = OverTasks(tasks, len(names))
    ranked = [(row, rank) for row in compared.order if (rank := compared.ranks[row]) is not None]
    rows, ranks = [row for row, _ in ranked], [rank for _, rank in ranked]
    labels = [wrapped(options.style.names(names[row]), NAMES) for row in rows]
    wide = max(text_width(line, 8) for label in labels for line in label.splitlines())
    title = translate(capitalized(said("mean rank")))
    sets = said("{what}: {text}", what=said("data sets"), text=str(len(tasks)))
    bars = said("{what}: {text}", what=said("bars"), text=said("tied"))
    subtitle = translate(joined(said("; "), [sets, bars]))
    figure = new_figure(wide + AXIS, HEAD + max(ROW * len(rows) + 0.6, 1.2), title, subtitle)
    below_title(figure)
    axes = figure.add_subplot()
    places = range(len(rows))
    axes.hlines(places, 1, ranks, color=FAINT, linewidth=1.5)
    axes.plot(ranks, places, "o", color=PALETTE[0], markersize=6.5)
    beside: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "clip_on": False}
    for number, group in enumerate(compared.groups):
        ends = [rows.index(group[0]) - JUTS, rows.index(group[-1]) + JUTS]
        axes.plot([1.03 + GROUP * number] * 2, ends, color=PALETTE[0], linewidth=3, **beside)
    axes.set_gid(ROWS)
    axes.set_yticks(places, labels)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(1 - 0.03 * (len(rows) - 1), len(rows))
    axes.set_xlabel(translate(said("mean rank")))
    yield "ranks", figure


def _samples(comparison: Comparison, metric: str | None) -> dict[str, Sample]:
    """Return the sample of each configuration by its name, none if the metric does not rank."""
    runs = runs_of(comparison)
    known = numbers_of(runs)
    number = metric if metric in known else runs[0].summary.primary
    named = zip(names_of(comparison), comparison.configurations, strict=True)
    own = {name: one.runs for name, one in named if number in numbers_of(one.runs)}
    if number is None or not own:
        return {}
    frames = (require_number(make_frame(runs), number) for runs in own.values())
    samples = with_diverged([sample_of(frame, number) for frame in frames])
    return dict(zip(own, samples, strict=True)) if samples[0].better else {}
