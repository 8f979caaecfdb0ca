"""The evidence for a claim: its runs, and points that were computed without training."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from attnexp.errors import RequestError
from attnexp.runs.folder import Run
from attnexp.runs.interventions import on_test
from attnexp.select.frame import Frame, make_frame
from attnexp.select.probed import PREFIX, with_probed
from attnexp.select.where import matching
from attnexp.stats.intervals import LEVEL, Spread
from attnexp.tables.entries import EXAMPLES, TESTED


class Point(msgspec.Struct, frozen=True, array_like=True):
    """A point of a curve, of one seed."""

    seed: int
    curve: str
    x: float
    y: float


def metric_of(name: str) -> str:
    """Return the metric that a number is measured by: `exact_match_by_length@16` is exact_match."""
    plain = name.partition("@")[0].partition("_by_")[0]
    return plain.rpartition(".")[2] if plain.startswith(PREFIX) else plain


@dataclass(frozen=True)
class Evidence:
    """The finished runs of a claim, one for each configuration and seed, and its points.

    `left_out` is the number of finished runs in the folder of the claim that its sweeps
    do not name now. `tests` is the number of tests that share the 5% of false verdicts:
    those of a claim of several parts, and interim looks.
    """

    runs: Sequence[Run] = ()
    points: Sequence[Point] = ()
    left_out: int = 0
    tests: int = 1

    @property
    def level(self) -> float:
        """The chance of a false verdict that one test has."""
        return LEVEL / self.tests

    @cached_property
    def frame(self) -> Frame:
        """The runs as a table."""
        return make_frame(self.runs)

    def chosen(self, where: str | None) -> Sequence[Run]:
        """Return the runs that fit a test, all without one. Raises RequestError where none fits."""
        if where is None:
            return self.runs
        chosen = self.frame.only(matching(self.frame, where))
        if not len(chosen):
            raise RequestError(f"none of the {len(self.frame)} runs fits {where}")
        return chosen.runs

    def values(self, name: str, where: str | None = None) -> dict[int, float]:
        """Return a number by seed, of the seeds that have it, of the runs that fit the test.

        The number is a metric, what `attnexp probe` stored (`probe.uniform.exact_match`), or a
        curve at a place: `exact_match_by_length@512` is a detail of a run, `largest weight@64` a
        computed point. Raises RequestError where no run fits, where two of one seed do, and where
        nothing has the number.
        """
        curve, sign, place = name.partition("@")
        points = [p for p in self.points if sign and p.curve == curve and f"{p.x:g}" == place]
        found = {point.seed: point.y for point in points}
        for run in () if points else with_probed(self.chosen(where), [name]):
            details = run.summary.details.get(curve, {})
            value = details.get(place) if sign else run.metrics.get(name)
            if value is not None:
                if run.seed in found:
                    raise RequestError(
                        f"several runs of seed {run.seed} fit {where or 'the claim'}"
                    )
                found[run.seed] = value
        if not found:
            raise RequestError(f"nothing has the number {name} yet")
        return found

    def spread(self, name: str, where: str | None = None) -> Spread:
        """Return mean and interval of a number by the unit of its metric. Raises as `values`."""
        values = list(self.values(name, where).values())
        chosen = self.frame.only(matching(self.frame, where)) if where else self.frame
        unit = "" if not self.runs else self.unit(name)
        examples = EXAMPLES
        if "@" not in name and TESTED in chosen.columns:
            counts = (n for n in chosen.column(TESTED) if isinstance(n, int) and n > 0)
            examples = min(counts, default=EXAMPLES)
        return Spread(values, unit, examples, coverage=1 - self.level)

    def unit(self, name: str) -> str:
        """Return the unit of a number: for a detail and under an intervention, of its metric."""
        return self.frame.units.get(metric_of(name), "")

    def names(self) -> list[str]:
        """Return the names of all numbers that there are, as `values` takes them.

        Columns of metrics.csv are among them.
        """
        found = dict.fromkeys(f"{point.curve}@{point.x:g}" for point in self.points)
        for run in self.runs:
            found |= dict.fromkeys(run.summary.metrics)
            found |= dict.fromkeys(run.epochs)
            for detail, values in run.summary.details.items():
                found |= dict.fromkeys(f"{detail}@{place}" for place in values)
            for intervention, numbers in on_test(run.interventions).items():
                found |= dict.fromkeys(f"{PREFIX}{intervention}.{metric}" for metric in numbers)
        return list(found)
