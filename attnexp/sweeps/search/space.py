"""A search space, written in Hydra's syntax.

    optim.lr=tag(log,interval(1e-4,1))    a number in between; tag(log,...) searches its logarithm
    arch.features=int(interval(1,64))     a whole number in between, both ends included
    arch.layers=range(1,5)                one of the numbers that a sweep would run
    model=dot,additive                    one of the choices

What Optuna proposes for a dimension is called a value here; a word is what the command line says.
"""

import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep

from attnexp.config.job import Job
from attnexp.errors import RequestError
from attnexp.sweeps.plan import Composer, Planned, Word, listed

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

Values = Mapping[str, Any]
"""What is proposed, by the names of the dimensions."""

Point = tuple[Word, ...]
"""A word for every dimension of a space."""


@dataclass(frozen=True)
class Dimension:
    """One searched setting, and the word for a value that is proposed.

    `corners` are words that stand for all others in what a search is. `values` is None where there
    is no end to them.
    """

    name: str
    distribution: "BaseDistribution"
    word: Callable[[Any], Word]
    corners: tuple[Word, ...]
    values: Sequence[Any] | None


class Space:
    """The points of a search, and the jobs of each.

    All seeds that are named belong to every point: seeds are not searched.

    Raises RequestError where there is nothing to search.
    """

    def __init__(self, composer: Composer, arguments: Sequence[str]) -> None:
        self._composer = composer
        parsed = composer.parse(arguments)
        searched = [name for name, word in parsed.items() if _is_searched(word)]
        if not searched:
            raise RequestError(
                "there is nothing to search: give a setting an interval(low,high), a range(...) or "
                "several choices"
            )
        self.dimensions = [dimension(parsed[name]) for name in searched]
        fixed = {name: listed(word) for name, word in parsed.items() if name not in searched}
        corners = {each.name: each.corners for each in self.dimensions}
        self._axes = composer.axes_of(fixed | corners)
        self._seeds = next((axis.words for axis in self._axes if axis.path == "seed"), None)

    @property
    def size(self) -> float:
        """The number of points, infinity where there is no end to them."""
        return math.prod(
            math.inf if each.values is None else len(each.values) for each in self.dimensions
        )

    @cached_property
    def key(self) -> str:
        """What the search is: its distributions, and the jobs at the corners of the space.

        So the same words after a changed default are another search.
        """
        first = tuple(each.corners[0] for each in self.dimensions)
        corners = [
            (*first[:place], corner, *first[place + 1 :])
            for place, each in enumerate(self.dimensions)
            for corner in each.corners
        ]
        keys = sorted({job.key for corner in corners for job in self.jobs(corner)})
        spans = sorted(f"{each.name} {each.distribution}" for each in self.dimensions)
        return hashlib.sha256(json.dumps([keys, spans]).encode()).hexdigest()[:10]

    def point(self, values: Values) -> Point:
        """The words for the values that were proposed."""
        return tuple(each.word(values[each.name]) for each in self.dimensions)

    def all_values(self) -> Iterator[Values]:
        """The values of every point of a space that has an end."""
        names = [each.name for each in self.dimensions]
        for values in itertools.product(*(each.values or () for each in self.dimensions)):
            yield dict(zip(names, values, strict=True))

    def jobs(self, point: Point) -> list[Planned]:
        """The jobs of a point, one for each seed."""
        given = {each.name: word for each, word in zip(self.dimensions, point, strict=True)}
        jobs = []
        for number, seed in enumerate(self._seeds or [None]):
            words = [
                seed if seed and axis.path == "seed" else given.get(axis.name, axis.words[0])
                for axis in self._axes
            ]
            jobs.append(self._composer.planned(self._axes, words, number))
        return jobs

    def job(self, planned: Planned) -> Job:
        """A planned job as a process needs it to run."""
        return self._composer.job(self._axes, planned)


def dimension(override: Override) -> Dimension:
    """The dimension that a word of the command line spans."""
    name = override.get_key_element()
    span = override._value
    if isinstance(span, IntervalSweep):
        return _interval(name, span)
    words = listed(override)
    if isinstance(span, RangeSweep):
        return _range(name, words)
    return _choice(name, words)


def _is_searched(override: Override) -> bool:
    return override.is_sweep_override() and override.key_or_group != "seed"


def _interval(name: str, span: IntervalSweep) -> Dimension:
    from optuna.distributions import FloatDistribution, IntDistribution

    low, high, log = span.start, span.end, "log" in span.tags
    assert low is not None
    assert high is not None

    def word(value: float) -> Word:
        return Word(f"{name}={value!r}", (value,))

    try:
        if isinstance(low, int) and isinstance(high, int):
            whole = IntDistribution(low, high, log=log)
            return Dimension(name, whole, word, (word(low), word(high)), range(low, high + 1))
        real = FloatDistribution(low, high, log=log)
    except ValueError as error:
        raise RequestError(f"{name}: {error}") from error
    return Dimension(name, real, word, (word(low), word(high)), None)


def _range(name: str, words: tuple[Word, ...]) -> Dimension:
    """A value is a place in the range, so that a search knows what is near to what."""
    from optuna.distributions import IntDistribution

    places = range(len(words))
    span = IntDistribution(0, len(words) - 1)
    return Dimension(name, span, lambda place: words[place], words, places)


def _choice(name: str, words: tuple[Word, ...]) -> Dimension:
    from optuna.distributions import CategoricalDistribution

    by_text = {word.text.partition("=")[2]: word for word in words}
    span = CategoricalDistribution(tuple(by_text))
    return Dimension(name, span, lambda text: by_text[text], words, tuple(by_text))
