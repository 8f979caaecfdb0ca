"""The space of a search, written in Hydra's syntax for overrides.

    optim.lr=tag(log,interval(1e-4,1))    a number between two bounds, sampled by its logarithm
    arch.features=int(interval(1,64))     an integer between two bounds, both included
    arch.layers=range(1,5)                one of the values that a sweep would run
    model=dot,additive                    one of the choices

Optuna proposes a value for each dimension. A point holds the override for each value.
"""

import hashlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hydra.core.override_parser.types import IntervalSweep, RangeSweep
from hydra.core.override_parser.types import Override as ParsedOverride
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from attnexp.config.job import Job
from attnexp.errors import RequestError
from attnexp.sweeps.overrides import Override, expand
from attnexp.sweeps.plan import Composer, PlannedJob, distinct

Values = Mapping[str, Any]
"""The proposed values by the names of the dimensions."""

Point = tuple[Override, ...]
"""An override for every dimension of a space."""


@dataclass(frozen=True)
class Dimension:
    """A searched setting. `override` returns the override for a proposed value."""

    name: str
    distribution: BaseDistribution
    override: Callable[[Any], Override]

    @property
    def values(self) -> Sequence[Any]:
        """All values, or of infinitely many numbers the two bounds."""
        spread = self.distribution
        if isinstance(spread, CategoricalDistribution):
            return spread.choices
        assert isinstance(spread, IntDistribution | FloatDistribution)
        if isinstance(spread, IntDistribution):
            return range(spread.low, spread.high + 1)
        return (spread.low, spread.high)

    @property
    def corners(self) -> tuple[Override, ...]:
        """The overrides of all choices, or those at the two ends of numbers."""
        chosen = self.values
        if not isinstance(self.distribution, CategoricalDistribution):
            chosen = (chosen[0], chosen[-1])
        return tuple(map(self.override, chosen))


class Space:
    """The points of a search and their jobs.

    Seeds are not a dimension: each point has a job for every seed of the command line.

    Raises RequestError where the arguments span no dimension.
    """

    def __init__(self, composer: Composer, arguments: Sequence[str]) -> None:
        self._composer = composer
        parsed = composer.parse(arguments)
        searched = [name for name, override in parsed.items() if _is_searched(override)]
        if not searched:
            raise RequestError(
                "there is nothing to search: give a setting an interval(low,high), a range(...) or "
                "several choices"
            )
        self.dimensions = [dimension(parsed[name]) for name in searched]
        fixed = {name: expand(each) for name, each in parsed.items() if name not in searched}
        corners = {each.name: each.corners for each in self.dimensions}
        self._axes = composer.axes_of(fixed | corners)
        seeds = next((axis.overrides for axis in self._axes if axis.path == "seed"), None)
        self._seeds: Sequence[Override | None] = seeds or [None]

    @cached_property
    def key(self) -> str:
        """The key of the search: a hash of its distributions and of the jobs of one point.

        A changed default therefore makes the same arguments another search.
        """
        jobs = self.jobs(tuple(each.corners[0] for each in self.dimensions))
        spans = sorted(f"{each.name} {each.distribution}" for each in self.dimensions)
        hashed = json.dumps([[job.place.key for job in jobs], spans])
        return hashlib.sha256(hashed.encode()).hexdigest()[:10]

    def point(self, values: Values) -> Point:
        """Return the point with these values."""
        return tuple(each.override(values[each.name]) for each in self.dimensions)

    def all_values(self) -> Iterator[Values]:
        """Yield the values of every point; of infinitely many numbers, the bounds only."""
        names = [each.name for each in self.dimensions]
        for values in itertools.product(*(each.values for each in self.dimensions)):
            yield dict(zip(names, values, strict=True))

    def jobs(self, point: Point) -> list[PlannedJob]:
        """Return the jobs of a point, one for each seed."""
        numbers = range(len(self._seeds))
        return list(distinct(self._planned(point, number) for number in numbers))

    def point_key(self, values: Values) -> str:
        """Return the key of a point. Points whose jobs are the same have the same key."""
        return self._planned(self.point(values), 0).place.key

    def job(self, planned: PlannedJob) -> Job:
        """Return the job that a worker process runs for a planned job."""
        return self._composer.job(self._axes, planned)

    def _planned(self, point: Point, number: int) -> PlannedJob:
        """Return the job of a point with the seed of this number."""
        given = {each.name: override for each, override in zip(self.dimensions, point, strict=True)}
        seed = self._seeds[number]
        overrides = [
            seed if seed and axis.path == "seed" else given.get(axis.name, axis.overrides[0])
            for axis in self._axes
        ]
        return self._composer.planned(self._axes, overrides, number)


def dimension(parsed: ParsedOverride) -> Dimension:
    """Return the dimension that an argument of the command line spans.

    The values of a range are positions, so that Optuna knows which are neighbours. Raises
    RequestError for an interval that Optuna refuses.
    """
    name = parsed.get_key_element()
    span = parsed._value
    if isinstance(span, IntervalSweep):
        return Dimension(name, _interval(name, span), lambda n: Override(f"{name}={n!r}", (n,)))
    overrides = expand(parsed)
    if isinstance(span, RangeSweep):
        return Dimension(name, IntDistribution(0, len(overrides) - 1), overrides.__getitem__)
    by_text = {override.text.partition("=")[2]: override for override in overrides}
    return Dimension(name, CategoricalDistribution(tuple(by_text)), by_text.__getitem__)


def _interval(name: str, span: IntervalSweep) -> BaseDistribution:
    low, high, log = span.start, span.end, "log" in span.tags
    assert low is not None
    assert high is not None
    try:
        if isinstance(low, int) and isinstance(high, int):
            return IntDistribution(low, high, log=log)
        return FloatDistribution(low, high, log=log)
    except ValueError as error:
        raise RequestError(f"{name}: {error}") from error


def _is_searched(parsed: ParsedOverride) -> bool:
    return parsed.is_sweep_override() and parsed.key_or_group != "seed"
