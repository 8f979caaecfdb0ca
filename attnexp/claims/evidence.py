"""The evidence for a claim: runs, and points computed without training."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from attnexp.core.console import number_text
from attnexp.core.errors import RequestError
from attnexp.runs.folder import Run
from attnexp.select.frame import Frame, make_frame
from attnexp.select.number import AT, numbers_of, require_number
from attnexp.select.sample import Sample, sample_of_row, with_diverged
from attnexp.select.where import fitting
from attnexp.stats.intervals import LEVEL
from attnexp.stats.scaled import mean

MECHANISMS = ("model", "normalizer", "estimator", "attention", "positions", "arch")
"""The groups whose choices are mechanisms."""

RATE = "optim.lr"


class Point(msgspec.Struct, frozen=True, array_like=True):
    """A point of one seed's curve."""

    seed: int
    curve: str
    x: float
    y: float

    @property
    def is_finite(self) -> bool:
        """Whether the point can be drawn and judged."""
        return math.isfinite(self.x) and math.isfinite(self.y)


@dataclass(frozen=True)
class Evidence:
    """The ended runs of a claim, one for each configuration and seed, and the computed points.

    A run that diverged has ended. `left_out` is the number of ended runs in the claim's folder that
    the sweeps do not name now. `tests` is the number of tests that share the level of 5%, such as
    parts of a claim. `looks` is the number of planned interim analyses.
    """

    runs: Sequence[Run] = ()
    points: Sequence[Point] = ()
    left_out: int = 0
    tests: int = 1
    looks: int = 1

    @property
    def level(self) -> float:
        """The level of a test of counts, or of a bound, at one analysis: 0.05 / `tests` / `looks`.

        Sign flips count the analyses themselves.
        """
        return LEVEL / self.tests / self.looks

    @cached_property
    def frame(self) -> Frame:
        """The runs as a table."""
        return make_frame(self.runs)

    def chosen(self, where: str | None) -> Frame:
        """Return the runs that fit a test, all for None. Raises RequestError if none fits."""
        return fitting(self.frame, where)

    def sample(self, number: str, where: str | None = None) -> Sample:
        """Return a number by seed, for the runs that fit a test. See `samples`."""
        return self.samples(number, where)[0]

    def samples(self, number: str, *rows: str | None) -> list[Sample]:
        """Return a number by seed, for the runs that fit each test; None is all runs.

        The number is named as `select.number` says, or is a computed point: `largest weight@64` is
        the curve `largest weight` at 64. A run that diverged has the worst value. Raises
        RequestError if no run fits, if two runs of a seed fit, and for an unknown number.
        """
        return with_diverged([self._sample(number, where) for where in rows])

    def _sample(self, number: str, where: str | None) -> Sample:
        curve, _, place = number.partition(AT)
        points = {
            point.seed: {0: point.y}
            for point in self.points
            if point.curve == curve and f"{point.x:g}" == place
        }
        if points:
            return Sample(number, points)
        if self.runs and all(run.summary.diverged for run in self.runs):
            raise RequestError(f"all {len(self.runs)} runs diverged: none has {number}")
        return sample_of_row(fitting(require_number(self.frame, number), where), number)

    def rates(self) -> str:
        """Return the learning rates of the rows, and whether they were tuned, as text.

        Empty for runs that differ in no mechanism, and for runs that were not trained.
        """
        if not (trained := [run for run in self.runs if run.metrics.get("steps")]):
            return ""
        frame = make_frame(trained)
        names = [name for name in frame.differing if _is_mechanism(name, frame.differing)]
        if not names:
            return ""
        tuned = trained[0].summary.tuning
        if tuned is None:
            given = [run.settings.get(RATE) for run in trained]
            rates = sorted({float(rate) for rate in given if isinstance(rate, int | float)})
            values = ", ".join(map(number_text, rates))
            return f"{'one rate' if len(rates) == 1 else 'rates'}, not tuned: {values}"
        rows = zip(zip(*(frame.data[name] for name in names), strict=True), trained, strict=True)
        tried = "; ".join(f"{name}={','.join(own)}" for name, own in tuned.values.items())
        chosen = dict.fromkeys(f"{' '.join(map(str, row))} {_chosen(run)}" for row, run in rows)
        return f"tuned for each row, {tried}: {', '.join(chosen)}"

    def last_pass(self, metric: str, where: str | None = None) -> float | None:
        """Return the change of a validated metric in the last pass, mean over the runs.

        None for a metric that is not validated after each pass, and for runs of one pass.
        """
        column = f"val_{metric.removeprefix('test_')}"
        ends = [run.epochs[column][-2:] for run in self.chosen(where).runs if column in run.epochs]
        changes = [float(end[1] - end[0]) for end in ends if len(end) == 2]
        changes = [change for change in changes if math.isfinite(change)]
        return mean(changes) if changes else None

    def last_passes(self, metric: str, *rows: str) -> list[tuple[str, str]]:
        """Return the change of a metric in the last pass by row, as text.

        The change of the validation loss takes the place of a metric that is not validated. Rows of
        runs of one pass are left out.
        """
        texts = []
        for row in rows:
            changes = ((name, self.last_pass(name, row)) for name in (metric, "loss"))
            known = (f"{name} {change:+.2g}" for name, change in changes if change is not None)
            if text := next(known, None):
                texts.append((f"last pass, {row}", text))
        return texts

    def names(self) -> list[str]:
        """Return the names of all measured numbers, columns of metrics.csv included."""
        found = dict.fromkeys(f"{point.curve}@{point.x:g}" for point in self.points)
        for run in self.runs:
            found |= dict.fromkeys(run.epochs)
        return list(found | dict.fromkeys(numbers_of(self.runs)))


def _is_mechanism(name: str, differing: Sequence[str]) -> bool:
    """Return whether a column is a mechanism, or a setting of one that all runs share."""
    group, sign, _ = name.partition(".")
    return group in MECHANISMS and not (sign and group in differing)


def _chosen(run: Run) -> str:
    """Return the tuned values of a run, and which was the last one tried, as text."""
    tuning = run.summary.tuning
    names = tuning.values if tuning else ()
    ends = tuning.at_end if tuning else ()
    return " and ".join(
        f"{run.settings.get(name)}{' (the last tried)' * (name in ends)}" for name in names
    )
