"""Checks the numbers of an answer against those of the runs."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from attnexp.core.console import number_text
from attnexp.course.exercise_file import ANSWER, Check, ExerciseAnswer
from attnexp.stats.intervals import LEVEL, student_reach

TOLERANCE = 0.05
"""The largest error of a stated number, in half widths of Student's interval."""


def reach_of(mean: float, half: float) -> float:
    """Return the largest error of a stated number, from a mean and half the width of its interval.

    Rounding of the mean is allowed even if all seeds agree.
    """
    return max(TOLERANCE * half, 1e-6 * abs(mean))


def stated(
    name: str,
    stated: Sequence[float | None],
    right: Mapping[str, Sequence[float]],
    reach: float,
    way: str = "",
) -> Check:
    """Check that numbers were stated, and are right within `reach`.

    `right` has the right numbers by name. The numbers of any one name pass. `way` says in the
    sentence how they were computed.
    """
    numbers = [number for number in stated if number is not None]
    if len(numbers) < len(stated):
        return Check(name, False, f"{next(iter(right))} is missing from {ANSWER}")
    passed = [
        text for text, ours in right.items() if np.allclose(numbers, ours, rtol=0, atol=reach)
    ]
    is_text = f"is {passed[0]}" if passed else f"is not {' nor '.join(right)}"
    share = f"within {number_text(reach)} ({TOLERANCE:.0%} of half the interval)"
    said = f"{' to '.join(map(number_text, numbers))} {is_text}{way}, {share}"
    return Check(name, bool(passed), said)


def stated_difference(
    answer: ExerciseAnswer,
    name: str,
    mean: float,
    differences: Sequence[float],
    intervals: Mapping[str, Sequence[float]],
) -> Iterator[Check]:
    """Yield whether an answer has a mean difference, paired by seed, and an interval of it.

    The interval is Student's, or one of `intervals`, which are given by name.
    """
    half = student_reach(differences, LEVEL, overlap=0.0)
    ends = {**intervals, "Student's 95% interval of it": [mean - half, mean + half]}
    reach, way = reach_of(mean, half), ", paired by seed"
    yield stated("difference", [answer.difference], {name: [mean]}, reach, way)
    yield stated("interval", [answer.low, answer.high], ends, reach, way)
