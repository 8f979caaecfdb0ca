"""Checks the numbers of an answer against those of the runs."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from attnexp.core.console import number_text
from attnexp.core.language import Phrase, Text, joined, said
from attnexp.course.exercise_file import ANSWER, Check, ExerciseAnswer
from attnexp.stats.intervals import LEVEL, student_reach

TOLERANCE = 0.05
"""The largest error of a stated number, in half widths of Student's interval."""


def reach_of(mean: float, half: float) -> float:
    """Return the largest error of a stated number, from a mean and half the width of its interval.

    Rounding of the mean is allowed even if all seeds agree.
    """
    return max(TOLERANCE * half, 1e-6 * abs(mean))


def is_or_not(right: bool) -> Text:
    """Return `is`, or `is not` for what is wrong."""
    return said("is" if right else "is not")


def missing_number(number: Phrase) -> Text:
    """Return the sentence on a number that an answer lacks."""
    return said("{number} is missing from {file}", number=number, file=ANSWER)


def stated(
    name: str,
    stated: Sequence[float | None],
    right: Mapping[Text, Sequence[float]],
    reach: float,
) -> Check:
    """Check that numbers were stated, and are right within `reach`.

    `right` has the right numbers by name. The numbers of any one name pass.
    """
    numbers = [number for number in stated if number is not None]
    if len(numbers) < len(stated):
        return Check(name, False, missing_number(next(iter(right))))
    passed = [
        text for text, ours in right.items() if np.allclose(numbers, ours, rtol=0, atol=reach)
    ]
    sentence = said(
        "{numbers} {is_it} {right}, within {reach} ({share} of half the interval)",
        numbers=joined(said(" to "), map(number_text, numbers)),
        is_it=is_or_not(bool(passed)),
        right=passed[0] if passed else joined(said(" nor "), right),
        reach=number_text(reach),
        share=f"{TOLERANCE:.0%}",
    )
    return Check(name, bool(passed), sentence)


def stated_difference(
    answer: ExerciseAnswer,
    name: Text,
    mean: float,
    differences: Sequence[float],
    intervals: Mapping[Text, Sequence[float]],
) -> Iterator[Check]:
    """Yield whether an answer has a mean difference, paired by seed, and an interval of it.

    The interval is Student's, or one of `intervals`, which are given by name.
    """
    half = student_reach(differences, LEVEL, overlap=0.0)
    ends = {**intervals, said("Student's 95% interval of it"): [mean - half, mean + half]}
    reach = reach_of(mean, half)
    yield stated("difference", [answer.difference], {name: [mean]}, reach)
    yield stated("interval", [answer.low, answer.high], ends, reach)
