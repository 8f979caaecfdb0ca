"""The search for the width of a kernel: a row of widths, and golden section at its minima."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

WIDTHS = 96
"""The number of widths in the row."""

VALLEYS, STEPS = 3, 20
"""The most minima of the row that are searched, and the steps of golden section in each."""

EVALUATIONS = WIDTHS + VALLEYS * (STEPS + 1)
"""The most errors that a search computes."""

WIDEST, NARROWEST = 0.1, 8.0
"""The first width of the row times the deviation of the inputs, and the last times their gap."""

GOLDEN = (math.sqrt(5) - 1) / 2

Error = Callable[[float], float]
"""Returns the error at a width, infinity for a width without a finite error."""


@dataclass(frozen=True)
class Valley:
    """The lowest error that was found around a minimum of the row, and its width.

    `place` is the index of the minimum in the row. `spacing` is the smaller distance between
    neighbours of the row there.
    """

    width: float
    error: float
    place: int
    spacing: float


def row_of_widths(deviation: float, gap: float) -> list[float]:
    """Return a geometric row of widths, from a kernel over all inputs to one over the nearest.

    `deviation` is the standard deviation of the inputs, `gap` their median distance to the nearest
    other input.
    """
    first, last = WIDEST / deviation, NARROWEST / gap
    return [first * (last / first) ** (i / (WIDTHS - 1)) for i in range(WIDTHS)]


def valleys(error: Error, row: list[float], errors: list[float]) -> list[Valley]:
    """Return the lowest minima of a row, each searched between its neighbours, the best first.

    `errors` are those at the widths of `row`. Of neighbours with equal errors the first is the
    minimum.
    """
    apart = [math.inf, *errors, math.inf]
    places = [
        i
        for i, (before, own, after) in enumerate(zip(apart[:-2], errors, apart[2:], strict=True))
        if own < before and own <= after
    ]
    lowest = sorted(places, key=lambda i: errors[i])[:VALLEYS]
    return sorted((_searched(error, row, errors, i) for i in lowest), key=lambda each: each.error)


def _searched(error: Error, row: list[float], errors: list[float], place: int) -> Valley:
    low, high = row[max(place - 1, 0)], row[min(place + 1, len(row) - 1)]
    tried = golden_section(error, low, high)
    best, width = min([(errors[place], row[place]), *((own, at) for at, own in tried)])
    return Valley(
        width, best, place, min(b - a for a, b in pairwise(row) if low <= a and b <= high)
    )


def golden_section(error: Error, low: float, high: float) -> list[tuple[float, float]]:
    """Return the widths that golden section tries on a log scale, with their errors."""
    a, b = math.log(low), math.log(high)
    tried: list[tuple[float, float]] = []

    def at(place: float) -> float:
        tried.append((math.exp(place), error(math.exp(place))))
        return tried[-1][1]

    c, d = b - GOLDEN * (b - a), a + GOLDEN * (b - a)
    left, right = at(c), at(d)
    for _ in range(STEPS - 1):
        if left <= right:
            b, d, right = d, c, left
            c = b - GOLDEN * (b - a)
            left = at(c)
        else:
            a, c, left = c, d, right
            d = a + GOLDEN * (b - a)
            right = at(d)
    return tried
