"""Samples: the values of one number by seed, from the runs of a configuration."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Literal, cast

import numpy as np
from numpy.typing import NDArray

from attnexp.core.errors import RequestError
from attnexp.core.language import Text, said
from attnexp.runs.folder import Run
from attnexp.select.configurations import DATA_SEED
from attnexp.select.frame import Frame
from attnexp.select.number import AT, require_number
from attnexp.stats.compare import Rule, Standing, against, beside, compare
from attnexp.stats.intervals import COVERAGE, RANGES, UNBOUNDED, Spread
from attnexp.stats.paired import Values, seed_means
from attnexp.stats.scaled import mean
from attnexp.stats.sequential import Arrival, Arrivals

TESTED = "data.num_test"
"""The setting with the number of test examples."""

EXAMPLES = 100
"""The number of examples behind a share, if the runs do not record it."""


@dataclass(frozen=True)
class SampleUnit:
    """The unit of averages and pairs: a column of the runs, and the words for its values.

    Seeds are the unit if data and initial parameters come from one seed, or if all runs have the
    same data. If runs have several values of `data_seed`, these are the unit, and seeds within a
    value are averaged first.
    """

    column: str
    one: str
    many: Text


SEEDS = SampleUnit("seed", "seed", said("seeds"))
DATA_SETS = SampleUnit(DATA_SEED, "data set", said("data sets"))
SPLITS = SampleUnit(DATA_SEED, "split", said("splits"))


@dataclass(frozen=True)
class Sample:
    """The values of one number by seed.

    - `values` are by the unit of averages `over` and, within it, by block: the number of the other
      settings that differ.
    - `unit` is the unit of measurement, such as `share`; `better` is None if the number does not
      rank.
    - `companions` are the means of the metrics shown next to the number, such as `chance`.
    - `examples` is the number of examples behind each share.
    - `overlap` is n_test / n_train if the values are of splits of one file.
    - `diverged` lists the unit and the block of each run that diverged and has no value.
    - `came` are the arrivals of the runs of each unit, of the latest of several blocks.
    """

    name: str
    values: Values
    unit: str = ""
    better: Literal["lower", "higher"] | None = None
    companions: Mapping[str, float] = field(default_factory=dict)
    examples: int = EXAMPLES
    overlap: float = 0.0
    over: SampleUnit = SEEDS
    diverged: Sequence[tuple[int, int]] = ()
    came: Arrivals = field(default_factory=dict)

    def map(self, function: Callable[[float], float]) -> "Sample":
        """Return the sample with a function applied to each value; it has no `unit`."""
        values = {
            unit: {block: function(value) for block, value in own.items()}
            for unit, own in self.values.items()
        }
        return replace(self, values=values, unit="")

    @property
    def means(self) -> list[float]:
        """The mean of each unit over its blocks."""
        return seed_means(self.values)

    @cached_property
    def spread(self) -> Spread:
        """Mean, deviation and 95% interval over units."""
        return self.spread_at(COVERAGE)

    def spread_at(self, coverage: float) -> Spread:
        """Return mean, deviation and an interval with this coverage."""
        return Spread(self.means, self.unit, self.examples, self.overlap, coverage)

    @property
    def range(self) -> tuple[float, float]:
        """The least and the largest value that the number can have."""
        return RANGES.get(self.unit, UNBOUNDED)

    def solves(self, within: float) -> bool:
        """Return whether the mean over units is within a margin of the best value."""
        return abs(mean(self.means) - self.best) <= within

    @property
    def worst(self) -> float:
        """The worst value that the number can have; infinite if there is none."""
        least, most = self.range
        return least if self.better == "higher" else most

    @property
    def diverged_units(self) -> set[int]:
        """The units whose runs all diverged."""
        lost = set(self.diverged)
        return {
            unit
            for unit, own in self.values.items()
            if lost and all((unit, block) in lost for block in own)
        }

    @property
    def best(self) -> float:
        """The best value that the number can have; infinite if there is none."""
        least, most = self.range
        return most if self.better == "higher" else least


def sample_of(
    runs: Frame,
    name: str,
    over: SampleUnit = SEEDS,
    blocks: NDArray[np.integer] | None = None,
    older: Mapping[str, Sequence[Run]] = MappingProxyType({}),
) -> Sample:
    """Return the sample of a metric of the frame from the finished runs.

    `blocks` numbers, for each run, the settings that differ within a unit, by default none. Runs
    that agree in unit and block are averaged. `older` has, by path of a run, the runs it replaced.
    """
    places: list[tuple[int, int]] = list(
        zip(
            runs.data[over.column],
            [0] * len(runs) if blocks is None else blocks.tolist(),
            strict=True,
        )
    )
    others = runs.companions.get(name, {})
    next_to_it = {head: seed_means(_values(runs, other, places)) for head, other in others.items()}
    return Sample(
        name,
        _values(runs, name, places),
        runs.units.get(name, ""),
        cast(Literal["lower", "higher"] | None, runs.better.get(name)),
        {head: mean(means) for head, means in next_to_it.items() if means},
        _examples(runs, name),
        overlap_of(runs, over),
        over,
        [place for place, run in zip(places, runs.runs, strict=True) if diverged_in(run, name)],
        _came(runs, [unit for unit, _ in places], older),
    )


def _came(runs: Frame, units: Sequence[int], older: Mapping[str, Sequence[Run]]) -> Arrivals:
    """Return the arrivals of each unit: of the replaced runs of other code, then of its run."""
    found: dict[int, tuple[Arrival, ...]] = {}
    for unit, run in zip(units, runs.runs, strict=True):
        replaced = (one for one in older.get(run.path, ()) if one.finished)
        others = {str(one.summary.code): one for one in sorted(replaced, key=_arrival)}
        others.pop(str(run.summary.code), None)
        own = (*map(_arrival, others.values()), _arrival(run))
        found[unit] = max(found.get(unit, own), own, key=lambda each: (len(each), each[-1]))
    return found


def _arrival(run: Run) -> Arrival:
    return run.summary.started or "", run.summary.command or ""


def sample_of_row(runs: Frame, number: str) -> Sample:
    """Return the sample of a number of one row, for cards, claims and exercises.

    Runs without the number are left out, except diverged runs. Raises RequestError if several runs
    of one seed have the number, and if no run has it, unless it is a metric of the frame and runs
    diverged.
    """
    diverged = np.array([diverged_in(run, number) for run in runs.runs], dtype=bool)
    is_known = number in runs.metrics and diverged.any()
    frame = runs if is_known else require_number(runs, number)
    measured = frame.only(frame.data[number].notna() | diverged)
    seeds = Counter(measured.data[SEEDS.column])
    if several := [seed for seed, count in seeds.items() if count > 1]:
        raise RequestError(f"several runs of seed {several[0]} have {number}: they are not one row")
    return sample_of(measured, number)


def diverged_in(run: Run, metric: str) -> bool:
    """Return whether a run diverged, or another tool recorded a metric as infinite or NaN."""
    outside = run.summary.imported is not None
    return run.summary.diverged or (outside and run.summary.metrics.get(metric, 0.0) is None)


def data_seeds(runs: Frame) -> set[int]:
    """Return the values of `data_seed`, empty if some run draws its data by its own seed."""
    if DATA_SEED not in runs.data:
        return set()
    found = set(runs.data[DATA_SEED])
    return set() if None in found else found


def overlap_of(runs: Frame, over: SampleUnit) -> float:
    """Return the largest n_test / n_train of the runs, 0 if all have the same split of the data."""
    if over is SEEDS and data_seeds(runs):
        return 0.0  # the runs have one split
    return float(max(runs.data["overlap"], default=0.0))


def with_diverged(samples: Sequence[Sample]) -> list[Sample]:
    """Return samples in which each diverged run has the worst value.

    Leaving the run out would favour its row. The worst value is the worse end of the range of the
    unit, such as 0 for a share that should be high, or, without a finite end, the worst value in
    the samples. A sample without values takes the companions of the first that has some.
    """
    first = samples[0]
    if first.better is None or not any(sample.diverged for sample in samples):
        return list(samples)
    worst = first.worst
    if math.isinf(worst):
        known = [value for one in samples for own in one.values.values() for value in own.values()]
        if not known:
            return list(samples)
        worst = min(known) if first.better == "higher" else max(known)
    of_others = [sample.companions for sample in samples if sample.values]
    companions = of_others[0] if of_others else {}
    return [
        _filled(sample if sample.values else replace(sample, companions=companions), worst)
        for sample in samples
    ]


def standings(
    samples: Sequence[Sample],
    equal_within: float | None = None,
    parts: int = 1,
    reference: int | None = None,
) -> list[Standing]:
    """Return how each sample compares with the best sample, or with the sample at `reference`.

    `parts` comparisons share the level. The reference itself has no word. If the number does not
    rank, no sample has a word.
    """
    better = samples[0].better
    if better is None:
        return [Standing()] * len(samples)
    overlap = max(sample.overlap for sample in samples)
    rule = Rule(better, equal_within, parts, overlap)
    values, came = [sample.values for sample in samples], [sample.came for sample in samples]
    if reference is None:
        return compare(values, rule, came)
    others = [i for i in range(len(samples)) if i != reference]
    arrivals = [came[i] for i in (reference, *others)]
    compared = [values[i] for i in others]
    found = against(values[reference], compared, rule, arrivals) if others else []
    by_place = dict(zip(others, found, strict=True))
    return [by_place.get(i, Standing()) for i in range(len(samples))]


def standings_beside(
    samples: Sequence[Sample], other: int, equal_within: float | None = None
) -> list[Standing]:
    """Return how each sample compares with the sample at `other`, by `stats.compare.beside`."""
    better = samples[0].better
    if better is None:
        return [Standing()] * len(samples)
    rule = Rule(better, equal_within, overlap=max(sample.overlap for sample in samples))
    values, came = [sample.values for sample in samples], [sample.came for sample in samples]
    return beside(values, other, rule, came)


def _values(runs: Frame, name: str, places: Sequence[tuple[int, int]]) -> Values:
    """Return the values of a metric of the finished runs; `places` are their unit and block."""
    found: dict[int, dict[int, list[float]]] = {}
    measured = np.where(runs.finished, runs.data[name], np.nan).tolist()
    for (unit, block), value in zip(places, measured, strict=True):
        if math.isfinite(value):
            found.setdefault(unit, {}).setdefault(block, []).append(value)
    return {
        unit: {block: mean(several) for block, several in own.items()}
        for unit, own in found.items()
    }


def _filled(sample: Sample, worst: float) -> Sample:
    values = {unit: dict(own) for unit, own in sample.values.items()}
    for unit, block in sample.diverged:
        values.setdefault(unit, {}).setdefault(block, worst)
    return replace(sample, values=values)


def _examples(runs: Frame, name: str) -> int:
    """Return the smallest number of test examples of the runs, EXAMPLES for a number at a place."""
    if AT in name or TESTED not in runs.data:
        return EXAMPLES
    counts = (n for n in runs.data[TESTED] if isinstance(n, int) and n > 0)
    return min(counts, default=EXAMPLES)
