"""The lines of pictures as numbers: columns of metrics.csv, and fitted curves.

This module does not import matplotlib: the report and `attnexp show` draw the same lines without.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from attnexp.errors import RequestError, choices_text
from attnexp.runs import files
from attnexp.runs.run import Run

if TYPE_CHECKING:
    from attnexp.runs.configurations import Comparison

LOG_FROM = 10.0
"""Largest over smallest value from which a logarithmic axis shows more."""

OF_TRAINING = ("epoch", "step", "seconds")
"""Columns of metrics.csv that say where a row stands and not how well it went."""


def runs_of(comparison: "Comparison") -> list[Run]:
    """Return the runs of all configurations."""
    return [run for one in comparison.configurations for run in one.runs]


def names_of(comparison: "Comparison") -> list[str]:
    """Return what pictures call each configuration: what sets it apart.

    The scoring function is left out where all have the same one and something else differs: the
    title names it.
    """
    models = {run.model for run in runs_of(comparison)}
    shared = f"{models.pop()}, " if len(models) == 1 else ""
    return [one.label.removeprefix(shared) for one in comparison.configurations]


def is_loss(column: str) -> bool:
    """Return whether a column of metrics.csv is a loss."""
    return column == "loss" or column.endswith("_loss")


def asked_columns(runs: Sequence[Run], metric: str | None) -> list[str]:
    """Return the column of metrics.csv that was asked for, else the losses of all trained runs.

    Raises RequestError for a column that no run has.
    """
    there = dict.fromkeys(name for run in runs for name in run.epochs if name not in OF_TRAINING)
    if metric is not None and metric not in there:
        had = f"there are {choices_text(there)}" if there else "nothing was trained"
        raise RequestError(f"no '{metric}' was written in training: {had}")
    if metric is not None:
        return [metric]
    trained = [losses for run in runs if (losses := set(filter(is_loss, run.epochs)))]
    return [name for name in there if trained and all(name in losses for losses in trained)]


def words(column: str) -> str:
    """Return a column of metrics.csv in words."""
    plain = column.replace("_", " ")
    return "training loss" if plain == "loss" else re.sub("^val ", "validation ", plain)


def wants_log(columns: Sequence[str], values: NDArray[np.float64]) -> bool:
    """Return whether a logarithmic axis shows more of these columns. Shares stay linear."""
    return all(is_loss(name) or name == "lr" for name in columns) and spans_powers(values)


def spans_powers(values: NDArray[np.float64]) -> bool:
    """Return whether values are positive and reach over more than a power of ten."""
    finite = values[np.isfinite(values)]
    if not len(finite) or finite.min() <= 0:
        return False
    return bool(finite.max() / finite.min() > LOG_FROM)


def has_fit(run: Run) -> bool:
    """Return whether the run predicted a curve: one x, and the training points are stored."""
    if not run.has_attention:
        return False
    batch = run.attention.batch
    curve = not run.attention.source_vocab and "values" in batch and batch["keys"].shape[-1] == 1
    return curve and bool(run.prediction_rows)


def fitted_curve(
    run: Run,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return x, truth and prediction of the first example, in order of x.

    Raises RequestError where predictions.csv does not hold them.
    """
    count = len(run.prediction_rows) // run.attention.batch["queries"].shape[0]
    names = ("x", "truth", "prediction")
    try:
        rows = np.array(
            [[float(row[name]) for name in names] for row in run.prediction_rows[:count]]
        ).reshape(count, len(names))
    except (KeyError, TypeError, ValueError):
        raise RequestError(
            f"{run.folder / files.PREDICTIONS} does not hold numbers for {', '.join(names)}"
        ) from None
    x, truth, prediction = rows[np.argsort(rows[:, 0], kind="stable")].T
    return x, truth, prediction


def compared_curves(
    comparison: "Comparison",
) -> tuple[NDArray[np.float64], NDArray[np.float64], dict[int, NDArray[np.float64]]]:
    """Return x, truth, and the predictions of configurations by their place, a row a run.

    Runs that predicted at other points than most are left out: lines over different points have no
    mean. Raises RequestError as `fitted_curve`.
    """
    curves = [[fitted_curve(run) for run in one.runs] for one in comparison.configurations]
    points = Counter(x.tobytes() for own in curves for x, _, _ in own)
    ((most, _),) = points.most_common(1)
    kept = [[curve for curve in own if curve[0].tobytes() == most] for own in curves]
    x, truth, _ = next(curve for own in kept for curve in own)
    stacked = {i: np.stack([curve[2] for curve in own]) for i, own in enumerate(kept) if own}
    return x, truth, stacked


def training_points(run: Run) -> NDArray[np.float64]:
    """Return the training points of the first example, (points, 2): x and y."""
    batch = run.attention.batch
    points = np.stack([batch["keys"][0, :, 0], batch["values"][0, :, 0]], axis=1)
    return points.astype(np.float64)
