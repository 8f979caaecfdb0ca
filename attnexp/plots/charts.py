"""Charts as data: curves with a row of values per seed, which both pictures and pages draw.

This module does not import matplotlib.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnexp.core.language import Phrase, capitalized, said
from attnexp.plots.lines import (
    fitted_curve,
    has_fit,
    metric_words,
    runs_of,
    training_points,
    wants_log,
    words,
)
from attnexp.runs.attention import same_examples
from attnexp.runs.folder import Run
from attnexp.select.configurations import Comparison
from attnexp.select.renaming import KEPT, Renaming


@dataclass(frozen=True)
class SeedCurve:
    """A curve with a row of values for each seed: `values` (seeds, points) at `x`.

    `place` is the index of the configuration in its comparison, None for a curve that is known,
    such as the truth. `part` is the index of a part of the chart.
    """

    label: Phrase
    place: int | None
    x: NDArray[np.float64]
    values: NDArray[np.float64]
    part: int = 0


@dataclass(frozen=True)
class CurveChart:
    """Curves on axes named `x` and `y`, and the points that they were fitted to.

    `log_x` and `log` say whether the axes x and y are logarithmic. Each configuration has a curve
    for each of the `parts`, by default one without a name.
    """

    title: Phrase
    x: Phrase
    y: Phrase
    curves: Sequence[SeedCurve]
    log: bool = False
    log_x: bool = False
    parts: Sequence[Phrase] = ("",)
    points: Sequence[NDArray[np.float64]] = ()

    @property
    def places(self) -> list[int]:
        """The places of the configurations that have a curve."""
        return list(dict.fromkeys(one.place for one in self.curves if one.place is not None))


def all_x(curves: Sequence[SeedCurve]) -> NDArray[np.float64]:
    """Return every x of the curves once, ascending."""
    return np.unique(np.concatenate([np.zeros(0), *(one.x for one in curves)]))


def all_values(curves: Sequence[SeedCurve]) -> NDArray[np.float64]:
    """Return the values of all curves that were measured, one after another."""
    measured = [one.values.ravel() for one in curves if one.place is not None]
    return np.concatenate([np.zeros(0), *measured])


def common(rows: Sequence[Mapping[Any, float]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the keys that all rows have, ascending, and the values at these keys, (rows, keys)."""
    x = sorted(set.intersection(*map(set, rows)))
    return np.array(x, np.float64), np.array([[row[at] for at in x] for row in rows], np.float64)


def chart_of_columns(
    comparison: Comparison, columns: Sequence[str], names: Renaming = KEPT
) -> CurveChart:
    """Return the chart of columns of metrics.csv over the epochs.

    A curve has the epochs at which all its seeds have a value. A configuration has no curves if one
    of its runs lacks a column. `names` gives columns other names.
    """
    curves = [
        SeedCurve(one.label, place, *common([_by_epoch(run, column) for run in one.runs]), part)
        for place, one in enumerate(comparison.configurations)
        if all(column in run.epochs for run in one.runs for column in columns)
        for part, column in enumerate(columns)
    ]
    parts = [words(column, names) for column in columns]
    name = parts[0] if len(parts) == 1 else metric_words("loss", names)
    log = wants_log(columns, all_values(curves))
    return CurveChart(capitalized(name), said("epoch"), name, curves, log, parts=parts)


def _by_epoch(run: Run, column: str) -> dict[float, float]:
    """Return the values of a column by epoch, without NaN."""
    pairs = zip(run.epochs["epoch"].tolist(), run.epochs[column].tolist(), strict=True)
    return {epoch: value for epoch, value in pairs if not math.isnan(value)}


def chart_of_fit(comparison: Comparison) -> CurveChart | None:
    """Return the chart of the truth and of each configuration's predictions.

    None if a run has no curve. Runs that predicted at other points than most are left out: curves
    over different points have no mean. The training points are shown if all runs have the same
    ones.

    Raises RequestError as `lines.fitted_curve` does.
    """
    runs = runs_of(comparison)
    if not all(map(has_fit, runs)):
        return None
    fitted = [[fitted_curve(run) for run in one.runs] for one in comparison.configurations]
    ((points, _),) = Counter(x.tobytes() for own in fitted for x, _, _ in own).most_common(1)
    kept = [[curve for curve in own if curve[0].tobytes() == points] for own in fitted]
    x, truth, _ = next(curve for own in kept for curve in own)
    curves = [] if truth is None else [SeedCurve(said("truth"), None, x, truth[None])]
    for place, (one, own) in enumerate(zip(comparison.configurations, kept, strict=True)):
        if own:
            curves.append(SeedCurve(one.label, place, x, np.stack([curve[2] for curve in own])))
    names = runs[0].attention
    same = all(same_examples(names, run.attention) for run in runs[1:])
    side, trained = next(iter(names.x_names), "x"), [*training_points(runs[0])] if same else ()
    return CurveChart(said("Fit"), side, names.y_name or "y", curves, points=trained)
