"""A decision by the rate at which an error falls with the number of points."""

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from attnexp.claims.decision import FEWEST, Decision, Verdict
from attnexp.claims.evidence import Evidence, Point
from attnexp.core.errors import RequestError
from attnexp.runs.folder import Run
from attnexp.stats.intervals import COVERAGE, moments, student_quantile

Errors = Mapping[float, Mapping[int, Mapping[int, float]]]
"""The error by width, number of points and seed."""


class Rate(Decision):
    r"""The slope of log error against log n is `expected`, to within `tolerance`.

    The error is the mean of (prediction - truth)^2 over the test points low <= x <= high and over
    the seeds, at the width where that is smallest for each n. The slope is that of least squares,
    and its 95% interval Student's of the jackknife, which leaves out a seed at a time (Tukey 1958).
    The logarithm of one seed's error would be skewed, and the less so the more points there are.
    `reproduced` where the interval lies within expected -/+ tolerance, `not reproduced` where it
    lies outside, and else `cannot tell`.

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

    def decide(self, evidence: Evidence) -> Verdict:
        runs = evidence.runs
        errors = errors_of(runs, self.low, self.high)
        mean, reach, seeds = slope_of(errors, 1 - evidence.level)
        shown = [
            (name, _text(*slope_of(errors_of(runs, *ends)))) for name, ends in self.shown.items()
        ]
        text = f"the slope is {_text(mean, reach, seeds)}, where {self.expected:g} is claimed"
        if seeds < FEWEST:
            return Verdict("cannot tell", text, FEWEST - seeds, shown)
        least, most = self.expected - self.tolerance, self.expected + self.tolerance
        if least <= mean - reach and mean + reach <= most:
            return Verdict("reproduced", text, shown=shown)
        if mean + reach < least or mean - reach > most:
            return Verdict("not reproduced", text, shown=shown)
        left = max(self.tolerance - abs(mean - self.expected), self.tolerance / 4)
        needed = math.ceil(seeds * (reach / left) ** 2)
        return Verdict("cannot tell", text, max(1, needed - seeds), shown)

    def curves(self, evidence: Evidence) -> Sequence[Point]:
        """Return the error by the number of points, at the best width, in each interval of x."""
        intervals = {f"{self.low:g} <= x <= {self.high:g}": (self.low, self.high), **self.shown}
        return [
            Point(seed, name, size, error)
            for name, ends in intervals.items()
            for seed, size, error in _best(errors_of(evidence.runs, *ends))
        ]


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


def slope_of(errors: Errors, coverage: float = COVERAGE) -> tuple[float, float, int]:
    """Return the slope of log error against log n, half its interval, and the number of seeds.

    The seeds are those that have every n and every width of it. Raises RequestError where there are
    fewer than two n, and where no seed is complete.
    """
    sizes = sorted({size for by_size in errors.values() for size in by_size})
    if len(sizes) < 2:
        raise RequestError("a slope takes runs at two numbers of points or more")
    several = [[by[size] for by in errors.values() if size in by] for size in sizes]
    seeds = sorted(set.intersection(*(set(by_seed) for own in several for by_seed in own)))
    if not seeds:
        raise RequestError("no seed has every number of points and every width yet")
    tables = [np.array([[by_seed[seed] for seed in seeds] for by_seed in own]) for own in several]
    whole = _slope(sizes, [table.mean(axis=1).min() for table in tables])
    if len(seeds) < 2:
        return whole, math.inf, len(seeds)
    without = [
        _slope(sizes, [np.delete(table, i, axis=1).mean(axis=1).min() for table in tables])
        for i in range(len(seeds))
    ]
    n = len(seeds)
    _, sd = moments(without)
    return whole, student_quantile(n - 1, coverage) * sd * (n - 1) / math.sqrt(n), n


def _best(errors: Errors) -> Iterator[tuple[int, int, float]]:
    """Yield seed, number of points and error at the width whose mean error is the smallest."""
    sizes = sorted({size for by_size in errors.values() for size in by_size})
    for size in sizes:
        several = [by_size[size] for by_size in errors.values() if size in by_size]
        best = min(several, key=lambda by_seed: float(np.mean(list(by_seed.values()))))
        yield from ((seed, size, error) for seed, error in best.items())


def _slope(sizes: Sequence[int], errors: Sequence[float]) -> float:
    """Return the slope of least squares of log error against log n."""
    n = np.log(sizes) - np.log(sizes).mean()
    return float(n @ np.log(errors) / (n @ n))


def _text(slope: float, reach: float, seeds: int) -> str:
    """Return the slope with its interval, over how many seeds."""
    if seeds < 2:
        return f"{slope:.3f} over one seed"
    return f"{slope:.3f} [{slope - reach:.3f}, {slope + reach:.3f}] over {seeds} seeds"
