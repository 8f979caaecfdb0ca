"""The picture of exact match against the length of the source."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from attnexp.errors import RequestError
from attnexp.plots.base import Figures, Options
from attnexp.plots.lines import names_of, runs_of
from attnexp.plots.style import (
    INK,
    bands_of,
    draw_band,
    line_styles,
    name_lines,
    new_figure,
    plot_axes,
)
from attnexp.runs import files
from attnexp.runs.run import Run

if TYPE_CHECKING:
    from attnexp.runs.configurations import Comparison

SHARES, TRAINED = "exact_match_by_length", "lengths_in_training"
"""The details of a summary that the picture shows."""


def draw_lengths(run: Run, options: Options) -> Figures:
    """Yield the exact match of a run at each length of the source, where there are several."""
    if not _has_lengths([run]):
        return
    figure = new_figure(5.6, 3.4, run.title, run.primary)
    axes = _axes(figure, [run])
    (look,) = line_styles(1)
    draw_band(axes, *_seeds_by_length([run]), None, look)
    name_lines(axes)
    yield "lengths", figure


def compare_lengths(comparison: "Comparison", options: Options) -> Figures:
    """Yield exact match against the length of the source, a line a configuration.

    A line is the mean over the seeds and its band reaches from the smallest to the largest, at the
    lengths that all seeds have. Lengths of training are shaded. Configurations whose runs have not
    measured it have no line.
    """
    entries = zip(
        comparison.configurations,
        names_of(comparison),
        line_styles(len(comparison.configurations)),
        strict=True,
    )
    measured = [entry for entry in entries if _has_lengths(entry[0].runs)]
    if not measured:
        return
    figure = new_figure(5.6, 3.9, f"Exact match{comparison.scope}", bands_of(comparison))
    axes = _axes(figure, [run for run in runs_of(comparison) if _has_lengths([run])])
    for one, name, look in measured:
        seeds = f" ({len(one.runs)} seeds)" if len(one.runs) > 1 else ""
        draw_band(axes, *_seeds_by_length(one.runs), name + seeds, look)
    name_lines(axes, beside=True)
    yield "lengths", figure


def _has_lengths(runs: Sequence[Run]) -> bool:
    """Return whether all runs have measured exact match at two lengths or more, the same ones."""
    common = set.intersection(*(set(run.summary.details.get(SHARES, {})) for run in runs))
    return len(common) > 1 and all(TRAINED in run.summary.details for run in runs)


def _seeds_by_length(runs: Sequence[Run]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lengths that all runs have, and their exact match, a row a run.

    Raises RequestError for a detail that is not exact match by length.
    """
    rows = [_numbers(run, SHARES) for run in runs]
    lengths = sorted(set.intersection(*map(set, rows)), key=int)
    values = [[row[length] for length in lengths] for row in rows]
    return np.array([int(length) for length in lengths], np.float64), np.array(values)


def _numbers(run: Run, detail: str) -> dict[str, float]:
    """Return a detail of a run. Raises RequestError where it does not hold what it should."""
    numbers = {
        name: value for name, value in run.summary.details[detail].items() if value is not None
    }
    wrong = [name for name in numbers if detail == SHARES and not name.isdecimal()]
    if wrong or (detail == TRAINED and set(numbers) != {"shortest", "longest"}):
        raise RequestError(f"{run.folder / files.SUMMARY} does not hold numbers for {detail}")
    return numbers


def _axes(figure: Figure, runs: Sequence[Run]) -> Axes:
    """Return axes of exact match over the length of the source, those of training shaded."""
    trained = [_numbers(run, TRAINED) for run in runs]
    shortest = min(lengths["shortest"] for lengths in trained)
    longest = max(lengths["longest"] for lengths in trained)
    axes = plot_axes(figure)
    axes.set_xlabel("length of the source")
    axes.set_ylabel("exact match")
    axes.set_ylim(-0.03, 1.03)
    axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
    axes.axvspan(
        shortest - 0.5, longest + 0.5, color=INK, alpha=0.08, linewidth=0, label="in training"
    )
    return axes
