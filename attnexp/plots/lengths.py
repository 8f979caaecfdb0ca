"""The picture of exact match against the length of the source."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullLocator
from numpy.typing import NDArray

from attnexp.core.language import capitalized, said, say
from attnexp.plots.base import Figures, Options
from attnexp.plots.lines import WIDE, runs_of, spans_powers
from attnexp.plots.style import INK, best_of, draw_band, line_axes, lines_of, name_lines
from attnexp.runs.folder import Run
from attnexp.select.configurations import Comparison

SHARES, TRAINED = "exact_match_by_length", "lengths_in_training"
"""The details of a summary that the picture shows."""


MARKER = "p"
"""The marker of lines that have none in other pictures: lengths are few, and far between."""


def draw_lengths(comparison: Comparison, options: Options) -> Figures:
    """Yield exact match against the length of the source, with a line per configuration.

    Lengths that span a wide range have a logarithmic axis. There is no picture if no length is
    beyond those of training.
    A line is the mean over the seeds and its band or bars reach from the smallest to the largest,
    at the lengths that all seeds have. Lengths of training are shaded. Configurations whose runs
    have not measured several lengths have no line.
    """
    measured = best_of([each for each in lines_of(comparison) if _has_lengths(each[0].runs)])
    if not measured or not any(_is_beyond(run) for one, _, _ in measured for run in one.runs):
        return
    figure, axes = line_axes(comparison, capitalized(said("exact match")), len(measured))
    _set_axes(axes, [run for run in runs_of(comparison) if _has_lengths([run])])
    for place, (one, name, line) in enumerate(measured):
        marked = {**line, "marker": line.get("marker") or MARKER}
        draw_band(axes, *_seeds_by_length(one.runs), name, marked, place, len(measured))
    name_lines(axes)
    yield "lengths", figure


def _has_lengths(runs: Sequence[Run]) -> bool:
    """Return whether all runs have measured exact match at two lengths or more, the same ones."""
    common = set.intersection(*(set(run.summary.details.get(SHARES, {})) for run in runs))
    return len(common) > 1 and all(TRAINED in run.summary.details for run in runs)


def _is_beyond(run: Run) -> bool:
    trained = _numbers(run, TRAINED)
    lengths = [int(length) for length in _numbers(run, SHARES)]
    return max(lengths) > trained["longest"] or min(lengths) < trained["shortest"]


def _seeds_by_length(runs: Sequence[Run]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lengths that all runs have, and their exact match, a row per run."""
    rows = [_numbers(run, SHARES) for run in runs]
    lengths = sorted(set.intersection(*map(set, rows)), key=int)
    values = [[row[length] for length in lengths] for row in rows]
    return np.array([int(length) for length in lengths], np.float64), np.array(values)


def _numbers(run: Run, detail: str) -> dict[str, float]:
    numbers = run.summary.details[detail].items()
    return {name: value for name, value in numbers if value is not None}


def _set_axes(axes: Axes, runs: Sequence[Run]) -> None:
    trained = [_numbers(run, TRAINED) for run in runs]
    shortest = min(lengths["shortest"] for lengths in trained)
    longest = max(lengths["longest"] for lengths in trained)
    axes.set_xlabel(say("length of the source"))
    axes.set_ylabel(say("exact match"))
    axes.set_ylim(-0.03, 1.03)
    axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
    lengths = sorted({int(length) for run in runs for length in _numbers(run, SHARES)})
    if spans_powers(np.array(lengths, np.float64), WIDE):
        axes.set_xscale("log")
        axes.set_xticks(lengths, [f"{length:,}" for length in lengths])
        axes.xaxis.set_minor_locator(NullLocator())
    axes.axvspan(
        shortest - 0.5, longest + 0.5, color=INK, alpha=0.08, linewidth=0, label=say("in training")
    )
