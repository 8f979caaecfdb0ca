"""A decision by the rate at which an error falls with the number of points."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from attnexp.claims.decision import Decision, Verdict
from attnexp.console import number_text
from attnexp.errors import RequestError
from attnexp.runs.folder import Run
from attnexp.tables.statistics import moments, student_quantile

Errors = Mapping[float, Mapping[int, Mapping[int, float]]]
"""The error by width, number of points and seed."""

FEWEST = 3
"""The fewest seeds of an interval."""


class Rate(Decision):
    r"""The slope of log error against log n is `expected`, to within `tolerance`.

    The error is the mean of (prediction - truth)^2 over the test points low <= x <= high, at the
    width with the smallest mean over seeds for each n. The slope of a seed is that of least
    squares. `reproduced` where the 95% interval of the mean slope (Student's, over seeds) lies
    within expected -/+ tolerance, `not reproduced` where it lies outside, and else `cannot tell`.

    `shown` has other intervals of x, by name, whose slopes are printed and do not decide.
    """

    def __init__(
        self,
        expected: float,
        tolerance: float,
        low: float,
        high: float,
        shown: Mapping[str, Sequence[float]],
    ) -> None:
        self.expected = expected
        self.tolerance = tolerance
        self.low = low
        self.high = high
        self.shown = shown

    def decide(self, runs: Sequence[Run]) -> Verdict:
        slopes = slopes_by_seed(errors_of(runs, self.low, self.high))
        shown = [
            (name, _text(slopes_by_seed(errors_of(runs, *ends))))
            for name, ends in self.shown.items()
        ]
        text = f"the slope is {_text(slopes)}, where {self.expected:g} is claimed"
        if len(slopes) < FEWEST:
            return Verdict("cannot tell", text, FEWEST - len(slopes), shown)
        mean, reach = _interval(slopes)
        least, most = self.expected - self.tolerance, self.expected + self.tolerance
        if least <= mean - reach and mean + reach <= most:
            return Verdict("reproduced", text, shown=shown)
        if mean + reach < least or mean - reach > most:
            return Verdict("not reproduced", text, shown=shown)
        room = max(self.tolerance - abs(mean - self.expected), self.tolerance / 4)
        needed = math.ceil(len(slopes) * (reach / room) ** 2)
        return Verdict("cannot tell", text, max(1, needed - len(slopes)), shown)


def errors_of(
    runs: Sequence[Run], low: float, high: float, step: float | None = None
) -> dict[float, dict[int, dict[int, float]]]:
    """Return the error of each run on the test points low <= x <= high, a `step` apart.

    Raises RequestError for runs whose predictions are not of a curve, and where no point is there.
    """
    found: dict[float, dict[int, dict[int, float]]] = {}
    for run in runs:
        rows = run.prediction_rows
        if not rows or not {"x", "truth", "prediction"} <= rows[0].keys():
            raise RequestError(f"{run.path} has no predictions of a curve")
        x, truth, answer = (
            np.array([float(row[name]) for row in rows]) for name in ("x", "truth", "prediction")
        )
        chosen = (low - 1e-6 <= x) & (x <= high + 1e-6)
        if step is not None:
            chosen &= np.abs((x - low) / step - np.round((x - low) / step)) < 1e-4
        if not chosen.any():
            raise RequestError(f"{run.path} was not tested on {low:g} <= x <= {high:g}")
        width = float(run.group("model").get("width", math.nan))
        size = int(run.group("data").get("num_train", 0))
        error = float(np.mean((answer - truth)[chosen] ** 2))
        found.setdefault(width, {}).setdefault(size, {})[run.seed] = error
    return found


def slopes_by_seed(errors: Errors) -> NDArray[np.float64]:
    """Return the slope of log error against log n of each seed that has every n.

    Raises RequestError where there are fewer than two n.
    """
    sizes = sorted({size for by_size in errors.values() for size in by_size})
    if len(sizes) < 2:
        raise RequestError("a slope takes runs at two numbers of points or more")
    best = [
        min(
            (by_size[size] for by_size in errors.values() if size in by_size),
            key=lambda by_seed: float(np.mean(list(by_seed.values()))),
        )
        for size in sizes
    ]
    seeds = sorted(set.intersection(*(set(by_seed) for by_seed in best)))
    logs = np.log([[by_seed[seed] for seed in seeds] for by_seed in best])
    n = np.log(sizes) - np.log(sizes).mean()
    slopes: NDArray[np.float64] = n @ logs / (n @ n)
    return slopes


def _interval(slopes: NDArray[np.float64]) -> tuple[float, float]:
    mean, sd = moments(slopes.tolist())
    return mean, student_quantile(len(slopes) - 1) * sd / math.sqrt(len(slopes))


def _text(slopes: NDArray[np.float64]) -> str:
    """Return the mean slope with its interval, over how many seeds."""
    if len(slopes) < 2:
        return f"{number_text(float(slopes.mean()))} (one seed)"
    mean, reach = _interval(slopes)
    low, high = number_text(round(mean - reach, 3)), number_text(round(mean + reach, 3))
    return f"{mean:.3f} [{low}, {high}] over {len(slopes)} seeds"
