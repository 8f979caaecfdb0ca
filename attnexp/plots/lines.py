"""The lines of pictures as numbers: columns of metrics.csv, and fitted curves.

This module does not import matplotlib: the report and `attnexp show` draw the same lines without.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from attnexp.core.errors import RequestError, choices_text
from attnexp.core.language import Phrase, said
from attnexp.runs import files
from attnexp.runs.attention import StoredAttention
from attnexp.runs.folder import Run
from attnexp.runs.settings import clean
from attnexp.runs.summary import error_text
from attnexp.select.configurations import Comparison
from attnexp.select.renaming import KEPT, Renaming
from attnexp.select.selection import warn_skipped
from attnexp.stats.intervals import Spread

LOG_FROM = 10.0
"""The ratio of the largest to the smallest value from which an axis is logarithmic."""

WIDE = 30.0
"""The same ratio for values along the x axis that are few, such as lengths."""

WIDTH = "pooling.score.width."
"""The beginning of the names of metrics that are the width of one input."""

SETTING = re.compile(r"(?:(?<=^)|(?<=, ))([\w.]+)=")

OF_TRAINING = ("epoch", "step", "seconds")
"""Columns of metrics.csv that say when a row was written, and measure nothing."""


def runs_of(comparison: Comparison) -> list[Run]:
    """Return the runs of all configurations."""
    return [run for one in comparison.configurations for run in one.runs]


def names_of(comparison: Comparison) -> list[str]:
    """Return the name of each configuration in pictures: the settings in which it differs.

    If all configurations have the same scoring function, names leave it out, as the title has it,
    unless nothing else would be left. A setting is written by the last part of its path, unless two
    settings share that part.
    """
    models = {run.model for run in runs_of(comparison)}
    shared = f"{models.pop()}, " if len(models) == 1 else ""
    names = [one.label.removeprefix(shared) for one in comparison.configurations]
    settings = {setting for name in names for setting in SETTING.findall(name)}
    ends = Counter(setting.rpartition(".")[2] for setting in settings)

    def short(found: re.Match[str]) -> str:
        end = found[1].rpartition(".")[2]
        return f"{end if ends[end] == 1 else found[1]}="

    return [SETTING.sub(short, name) for name in names]


def renamed(comparison: Comparison, renaming: Renaming) -> Comparison:
    """Return a comparison whose configurations have new names, from those in pictures."""
    if not renaming:
        return comparison
    names = zip(comparison.configurations, names_of(comparison), strict=True)
    own = tuple(replace(one, label=renaming(name)) for one, name in names)
    return replace(comparison, configurations=own)


def is_loss(column: str) -> bool:
    """Return whether a column of metrics.csv is a loss."""
    return column == "loss" or column.endswith(("_loss", "/loss"))


def asked_columns(runs: Sequence[Run], metric: str | None) -> list[str]:
    """Return the column of metrics.csv that `metric` asks for, else the losses of all trained runs.

    Raises RequestError for a column that no run has.
    """
    there = dict.fromkeys(name for run in runs for name in run.epochs if name not in OF_TRAINING)
    if metric is not None and metric not in there:
        had = f"choose {choices_text(there)}" if there else "nothing was trained"
        raise RequestError(f"metrics.csv has no column '{metric}': {had}")
    if metric is not None:
        return [metric]
    trained = [losses for run in runs if (losses := set(filter(is_loss, run.epochs)))]
    return [name for name in there if trained and all(name in losses for losses in trained)]


def words(column: str, names: Renaming = KEPT) -> Phrase:
    """Return the name of a column of metrics.csv in pictures: its new name, else words.

    A validation column has the name of its metric, behind the word validation.
    """
    if (title := names.title(column)) != column:
        return title
    if column == "loss":
        return said("training loss")
    metric = column.removeprefix("val_")
    if metric == column:
        return column.replace("_", " ")
    return said("validation {metric}", metric=metric_words(metric, names))


def metric_words(metric: str, names: Renaming) -> Phrase:
    """Return the name of a metric in pictures: its new name, else words."""
    known = {"loss": said("loss"), "exact_match": said("exact match")}
    title = names.title(metric)
    return known.get(metric, metric.replace("_", " ")) if title == metric else title


def wants_log(columns: Sequence[str], values: NDArray[np.float64]) -> bool:
    """Return whether columns get a logarithmic axis, as losses and rates over powers of ten do."""
    return all(is_loss(name) or name == "lr" for name in columns) and spans_powers(values)


def spans_powers(values: NDArray[np.float64], factor: float = LOG_FROM) -> bool:
    """Return whether values are positive, the largest more than `factor` times the smallest."""
    finite = values[np.isfinite(values)]
    if not len(finite) or finite.min() <= 0:
        return False
    return bool(finite.max() / factor > finite.min())


def spread_over_powers(spreads: Sequence[Spread]) -> bool:
    """Return whether values with intervals get a logarithmic axis.

    They do if the values span powers of ten and no interval reaches 0.
    """
    values = np.array([value for each in spreads for value in each.values])
    lows = [each.low or 0.0 for each in spreads if each.n > 1]
    return spans_powers(values) and all(low > 0 for low in lows)


def has_fit(run: Run) -> bool:
    """Return whether the run predicted a curve: one x, and the training points are stored."""
    if not run.has_attention:
        return False
    batch = run.attention.batch
    curve = not run.attention.source_vocab and "values" in batch and batch["keys"].shape[-1] == 1
    return curve and bool(run.prediction_rows)


@dataclass(frozen=True)
class Response:
    """The predictions of a run of a table along some inputs.

    `varied` names the inputs, `x` (points, inputs) has the points, and `prediction` is y at each
    point.
    """

    varied: str
    x: NDArray[np.float64]
    prediction: NDArray[np.float64]


def responses(run: Run) -> list[Response]:
    """Return the responses that a run stored: one for each input, or a single one over two inputs.

    The list is empty if the data are not a table.

    Raises RequestError if response.csv does not hold numbers.
    """
    if not run.response_rows:
        return []
    inputs = [name for name in run.response_rows[0] if name not in ("varied", "prediction")]
    rows = _numbers(run, run.response_rows, files.RESPONSE, [*inputs, "prediction"])
    varied = [row["varied"] for row in run.response_rows]
    places: dict[str, list[int]] = {}
    for i, name in enumerate(varied):
        places.setdefault(name, []).append(i)
    return [Response(clean(name), rows[at, :-1], rows[at, -1]) for name, at in places.items()]


def widths_of(run: Run) -> dict[str, float]:
    """Return the learned widths of a kernel by input, empty if inputs share a width."""
    return {
        name.removeprefix(WIDTH): value
        for name, value in run.metrics.items()
        if name.startswith(WIDTH)
    }


def fitted_curve(
    run: Run,
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, NDArray[np.float64]]:
    """Return x, truth and prediction of the first example, in order of x.

    For a table, x is a grid and the truth is None.

    Raises RequestError if predictions.csv or response.csv does not hold these numbers.
    """
    if run.response_rows:
        (curve,) = responses(run)
        return curve.x[:, 0], None, curve.prediction
    count = len(run.prediction_rows) // run.attention.batch["queries"].shape[0]
    names = ("x", "truth", "prediction")
    rows = _numbers(run, run.prediction_rows[:count], files.PREDICTIONS, names)
    x, truth, prediction = rows[np.argsort(rows[:, 0], kind="stable")].T
    return x, truth, prediction


def _numbers(
    run: Run, rows: Sequence[Mapping[str, str]], file: str, names: Sequence[str]
) -> NDArray[np.float64]:
    """Return the columns of these names, (rows, names).

    Raises RequestError if a column is missing or holds something other than numbers.
    """
    try:
        return np.array([[float(row[name]) for name in names] for row in rows]).reshape(
            len(rows), len(names)
        )
    except (KeyError, TypeError, ValueError):
        raise RequestError(
            f"{run.folder / file} does not hold numbers for {', '.join(names)}"
        ) from None


def training_points(run: Run) -> NDArray[np.float64]:
    """Return the training points of the first example, (points, inputs + 1), y last."""
    return _points(run, "keys", "values")


def held_out_points(run: Run) -> NDArray[np.float64]:
    """Return the test points of the first example, (points, inputs + 1), y last."""
    return _points(run, "queries", "targets")


def _points(run: Run, x: str, y: str) -> NDArray[np.float64]:
    batch = run.attention.batch
    points = np.concatenate([batch[x][0], batch[y][0, :, :1]], axis=1)
    return points.astype(np.float64)


def intact(runs: Sequence[Run]) -> tuple[list[Run], list[str]]:
    """Return the runs whose files can be drawn, and a reason for each of the others.

    The reasons name the folder, and are printed too. An error of one run does not stop the others.
    """
    found, reasons = [], []
    for run in runs:
        try:
            _draw_alone(run)
            found.append(run)
        except Exception as error:  # the folder may be damaged in any way
            why = error_text(error)
            reasons.append(why if str(run.folder) in why else f"{run.folder}: {why}")
    warn_skipped(reasons, "left out of pictures {} with damaged files", "run")
    return found, reasons


def _draw_alone(run: Run) -> None:
    """Compute what the pictures of a run are drawn from, so that errors of its files are raised."""
    run.check_files()
    responses(run)
    if not run.has_attention:
        return
    for name, weights in run.attention.weights.items():
        _maps(run.attention, name, weights.shape[1])
    for attention in [*run.snapshots.values()][-1:]:  # they share examples and shapes
        _maps(attention, run.attention.main, attention[run.attention.main].shape[1])
    if has_fit(run):
        fitted_curve(run)
        training_points(run)
        held_out_points(run)


def _maps(attention: StoredAttention, name: str, layers: int) -> None:
    for example in range(len(attention[name])):
        for layer in range(layers):
            attention.map(name, example, layer, None)
