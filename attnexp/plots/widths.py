"""The picture of the error at other widths than the learned one."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attnexp.core.language import capitalized, said, say, translate
from attnexp.plots.base import Figures, Options
from attnexp.plots.style import (
    INK,
    best_of,
    line_axes,
    lines_of,
    log_axis,
    seed_of,
    seeds_of,
    title_of,
)
from attnexp.runs.folder import Run
from attnexp.runs.summary import Tried
from attnexp.select.configurations import Comparison


def draw_widths(comparison: Comparison, options: Options) -> Figures:
    """Yield the error at each width that was tried, with the learned width of each run.

    A run has a line, in the colour of its configuration, over the widths whose error is a number. A
    dot is its learned width. A ring is the width at which training had ended before a second start.
    A configuration whose width was not checked has no line.
    """
    checked = best_of([each for each in lines_of(comparison) if _checked(each[0].runs)])
    if not checked:
        return
    title = title_of(comparison, capitalized(said("error")))
    figure, axes = line_axes(title, _subtitle(comparison))
    places, heights = [], []
    for one, name, line in checked:
        for i, check in enumerate(run.summary.width_check for run in _checked(one.runs)):
            assert check is not None
            row = _finite(check.row)
            axes.plot(*row, **{**line, "label": "" if i else name, "marker": ""})
            axes.plot(*_finite([check.learned]), "o", color=line["color"], markersize=6)
            places.append(row[0])
            heights.append(row[1])
            if check.epoch is not None:
                before = _finite([check.trained])
                axes.plot(*before, "o", color=line["color"], fillstyle="none", markersize=6)
    axes.plot([], [], "o", color=INK, label=say("learned width"))
    log_axis(axes, "x", np.concatenate(places))
    axes.set_xlabel(say("width"))
    axes.set_ylabel(say("error"))
    log_axis(axes, "y", np.concatenate(heights))
    yield "widths", figure


def _subtitle(comparison: Comparison) -> str:
    """Return the primary metric of a single run, else the seed of all, or their number."""
    if comparison.alone:
        return comparison.alone.primary
    return translate(seed_of(comparison) or seeds_of(comparison))


def _checked(runs: Sequence[Run]) -> list[Run]:
    return [run for run in runs if run.summary.width_check is not None]


def _finite(tried: Sequence[Tried]) -> NDArray[np.float64]:
    """Return the widths and the errors, a row each, of tries whose error is a number."""
    pairs = [(width, error) for width, error in tried if error is not None and width > 0]
    return np.array(pairs, np.float64).reshape(-1, 2).T
