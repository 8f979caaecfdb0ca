"""The search among the values of tuned settings, by means of a metric."""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from attnexp.sweeps.overrides import Override

FEW = 3
"""The fewest values of which the best can count as the last in its direction."""

FINALISTS = 2
"""The number of choices that are tried at further seeds."""

TIE = 0.01
"""Choices within this share of the best value are ties, which the task's own metric decides."""

Choice = tuple[Override, ...]
"""An override for each of several axes, in their order."""

Counts = Mapping[Choice, int]
"""The number of seeds at which each choice is tried, from the first seed of the search on."""


@dataclass(frozen=True)
class Means:
    """The means of choices by the deciding metric, and by the one that decides among ties.

    A choice that could not be measured has None; `error` is the last reason.
    """

    metric: str | None
    higher: bool
    values: Mapping[Choice, float | None]
    ties: Mapping[Choice, float]
    higher_ties: bool
    error: str = ""

    def score(self, choice: Choice) -> object:
        """Return the means of a choice by both metrics. Equally good choices have equal scores."""
        return self.values[choice], self.ties.get(choice)

    def best(self, among: Iterable[Choice]) -> Choice | None:
        """Return the best choice, the first of equally good ones; None if none was measured."""
        found = {each: value for each in among if (value := self.values[each]) is not None}
        if not found:
            return None
        top = (max if self.higher else min)(found.values())
        near = [each for each in found if abs(found[each] - top) <= TIE * abs(top)]
        if len(near) > 1 and all(each in self.ties for each in near):
            return (max if self.higher_ties else min)(near, key=self.ties.__getitem__)
        return next(each for each, value in found.items() if value == top)

    def finalists(self) -> list[Choice]:
        """Return the best choices, at most FINALISTS."""
        found: list[Choice] = []
        left = [*self.values]
        while len(found) < FINALISTS and (best := self.best(left)):
            left.remove(best)
            found.append(best)
        return found


@dataclass(frozen=True)
class Search:
    """The search among the values of settings, by nothing but `means`.

    All combinations of `starts` are tried at `first` seeds. While the best choice is at an end of a
    setting, the next of the setting's `numbers` is tried. Then the finalists are tried at all
    `every` seeds, and so is the next number while the best finalist is at an end.
    """

    starts: Sequence[Sequence[Override]]
    numbers: Sequence[Sequence[Override]]
    first: int
    every: int
    means: Callable[[Counts], Means]

    def start(self) -> dict[Choice, int]:
        """Return the choices that are tried first."""
        return dict.fromkeys(itertools.product(*self.starts), self.first)

    def more(self, counts: Counts) -> dict[Choice, int]:
        """Return the choices to try after those of `counts`; empty when the search has ended."""
        most, found = max(counts.values()), self.means(counts)
        best = self.best(counts, found)
        if best is None:
            return {}
        for place, numbers in enumerate(self.numbers):
            if side := self.side(place, best, counts):
                order = sorted(dict.fromkeys(numbers), key=number)
                at = order.index(best[place]) + side
                if 0 <= at < len(order):
                    return {_with(best, place, order[at]): most}
        return dict.fromkeys(found.finalists(), self.every) if most < self.every else {}

    def best(self, counts: Counts, found: Means) -> Choice | None:
        """Return the best choice at the most seeds; of all choices if none there was measured."""
        most = max(counts.values())
        return found.best(each for each in counts if counts[each] == most) or found.best(counts)

    def side(self, place: int, best: Choice, counts: Counts) -> int:
        """Return 1 if the best number is the last one tried upwards, -1 for downwards, else 0.

        Also 0 if the number before the last is as good at the same seeds.
        """
        given = {*map(number, self.starts[place])}
        own = number(best[place])
        side = (own >= max(given)) - (own <= min(given))
        if len(given) < FEW or any(map(math.isnan, given)) or not side:
            return 0
        line = [each for each in counts if each == _with(best, place, each[place])]
        *inner, last = sorted(line, key=lambda each: side * number(each[place]))
        if last != best:
            return 0
        for each in inner[-1:]:
            found = self.means(dict.fromkeys((each, best), min(counts[each], counts[best])))
            if found.score(each) == found.score(best):
                return 0
        return side


def number(override: Override) -> float:
    """Return the value of an override if it is a number, else NaN."""
    value = None if override.value is None else override.value[0]
    return math.nan if isinstance(value, str | bool | None) else value


def numbers_beyond(given: Sequence[float], beyond: int) -> list[float]:
    """Return `beyond` further numbers on each side, in the ratio of the last two on that side.

    Empty for fewer than `FEW` numbers, for numbers that are not positive, and if all are integers.
    """
    order = sorted({*given})
    whole = all(isinstance(each, int) for each in given)
    if whole or len(order) < FEW or not all(each > 0 for each in order):
        return []
    ends = ((order[0], order[0] / order[1]), (order[-1], order[-1] / order[-2]))
    return [float(f"{end * ratio**k:.3g}") for end, ratio in ends for k in range(1, beyond + 1)]


def _with(choice: Choice, place: int, value: Override) -> Choice:
    return (*choice[:place], value, *choice[place + 1 :])
