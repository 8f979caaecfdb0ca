"""The attempts at a run whose steps were recorded one after the other, of which the last counts."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class LoggedPoint(NamedTuple):
    """Numbers by name that were recorded at a step, in one of the files of a run."""

    step: float
    values: Mapping[str, Any]
    file: int = 0


class TwoTrainingsError(ValueError):
    """The steps of a run begin anew."""


def last_attempt(points: Sequence[LoggedPoint]) -> list[LoggedPoint]:
    """Return the points of a run without those that a restart has made void.

    A run is restarted if a number is recorded at an earlier step than before, say at 100 after
    150, or at the same step in a later file: everything that was recorded before, from this step
    on, is void. Other numbers that were recorded at 100 since 150 belong to the new attempt.

    Raises TwoTrainingsError if a number is recorded again at its first step or before: nothing says
    which of two trainings is meant.
    """
    first: dict[str, float] = {}
    last: dict[str, tuple[float, int]] = {}
    restarts: dict[int, float] = {}
    begin = 0
    for place, (step, values, file) in enumerate(points):
        begin = begin if place and points[place - 1][::2] == (step, file) else place
        for name in values:
            before, before_file = last.get(name, (-math.inf, file))
            if step < before or (step == before and before_file < file):
                if step <= first[name]:
                    raise TwoTrainingsError(f"{name} goes back from step {before} to {step}")
                went_back = begin and (
                    points[begin - 1].step > step or points[begin - 1].file < file
                )
                restarts[begin if went_back else place] = step
                last = {other: (min(own, step), file) for other, (own, _) in last.items()}
            first.setdefault(name, step)
            last[name] = step, file
    kept: list[LoggedPoint] = []
    bound = math.inf
    for place in range(len(points) - 1, -1, -1):
        if points[place].step < bound:
            kept.append(points[place])
        bound = min(bound, restarts.get(place, math.inf))
    return kept[::-1]
