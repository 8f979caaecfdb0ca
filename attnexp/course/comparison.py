"""Checks of the runs of an exercise, and of the answer that a student has drawn from them."""

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from attnexp.console import number_text
from attnexp.course.check import Check
from attnexp.course.documents import read_document
from attnexp.course.exercise import ANSWER, Comparison, Setting, settings_text
from attnexp.errors import RequestError
from attnexp.runs.configurations import without_repeats, without_trials
from attnexp.runs.frame import Frame, make_frame
from attnexp.runs.run import Run
from attnexp.runs.settings import cell
from attnexp.tables.comparison import paired_test
from attnexp.tables.significance import Values, compare, pair_test
from attnexp.tables.statistics import Spread, spread

LEAST_SEEDS = 5

TOLERANCE = 0.05
"""How far a stated number may be from ours, in halves of the width of our interval."""

UNDECIDED = "undecided"

SHOWN = 3
"""How many names or seeds a sentence lists."""


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a student has found: the mean paired difference, first side minus second, its 95%
    interval, and which side is better."""

    exercise: str
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    better: str | None = None


def read_answer(folder: Path) -> Answer:
    """Return the answer in the folder of an exercise. Raises RequestError where it cannot be read.

    The folder, and so the answer, may be anybody's.
    """
    if not os.path.isdir(folder):
        raise RequestError(f"{folder} is not a folder: `attnexp exercise start NAME` makes one")
    return read_document(folder / ANSWER, Answer)


def check_comparison(
    comparison: Comparison, runs: Sequence[Run], answer: Answer
) -> Iterator[Check]:
    """Yield a check after the other, as far as the runs go.

    Raises RequestError for files of a run that cannot be read.
    """
    sides = _sides(comparison, runs)
    yield (there := _both_there(comparison, sides))
    if not there.passed:
        return
    both = make_frame([run for side in sides for run in side])
    yield (controlled := _controlled(comparison, both))
    if not controlled.passed:
        return
    first, second = ({run.seed: run for run in side} for side in sides)
    yield _same_data(comparison, first, second)
    shared = sorted(first.keys() & second.keys())
    yield _paired(comparison, first, second)
    yield Check(
        "seeds",
        len(shared) >= LEAST_SEEDS,
        f"{len(shared)} seeds are on both sides, and at least {LEAST_SEEDS} are asked for",
    )
    if len(shared) < 2:
        return
    yield from _answered(
        comparison, both, [_values(comparison, own) for own in (first, second)], answer
    )


def _sides(comparison: Comparison, runs: Sequence[Run]) -> list[list[Run]]:
    """Return the finished runs of the two sides, the newest of the same settings and seed.

    Runs that were made to tune settings are no results.
    """
    finished = [run for run in runs if run.finished]
    if not finished:
        return [[], []]
    frame, _ = without_repeats(without_trials(make_frame(finished))[0])
    found = []
    for side in comparison.sides:
        fits = _fitting(frame, {**comparison.same, **side})
        own = [finished[row] for row in frame.only(fits).rows]
        found.append([run for run in own if comparison.metric in run.metrics])
    return found


def _fitting(frame: Frame, wanted: Mapping[str, Setting]) -> NDArray[np.bool_]:
    """Return which runs have these choices and settings."""
    fits = np.ones(len(frame), dtype=bool)
    for name, value in wanted.items():
        if name not in frame.factors:
            return np.zeros(len(frame), dtype=bool)
        fits &= np.array([one == cell(value) for one in frame.column(name)], dtype=bool)
    return fits


def _both_there(comparison: Comparison, sides: Sequence[Sequence[Run]]) -> Check:
    """Check that both sides have been run."""
    lacking = [label for label, side in zip(comparison.labels, sides, strict=True) if not side]
    same = settings_text(comparison.same)
    if lacking:
        sentence = (
            f"there is no finished run of {' and of '.join(lacking)} with {same} and a "
            f"{comparison.metric}"
        )
    else:
        sentence = f"{' and '.join(comparison.labels)} have been run with {same}"
    return Check("comparison", not lacking, sentence)


def _controlled(comparison: Comparison, both: Frame) -> Check:
    """Check that nothing differs but what is compared, and what was tuned for each side.

    What belongs to a choice that is compared, as model.width to model, must be one on each side.
    """
    compared = {name for side in comparison.sides for name in side}
    differing = [
        name
        for name in both.telling
        if name not in compared | both.tuned
        and (name.partition(".")[0] not in compared or _varies(comparison, both, name))
    ]
    if not differing:
        return Check(
            "one difference", True, f"the runs differ in {_listed(sorted(compared))} alone"
        )
    return Check(
        "one difference",
        False,
        f"the runs also differ in {_listed(differing)}: compare two configurations, all else the "
        "same, or name other runs with --runs",
    )


def _varies(comparison: Comparison, both: Frame, name: str) -> bool:
    """Whether a setting has several values on one side."""
    rows = [_fitting(both, side) for side in comparison.sides]
    return any(len(set(both.column(name)[own].tolist())) > 1 for own in rows)


def _same_data(
    comparison: Comparison, first: Mapping[int, Run], second: Mapping[int, Run]
) -> Check:
    """Check that both sides saw the same numbers at each seed: those that the runs have kept."""
    other = [
        seed
        for seed in sorted(first.keys() & second.keys())
        if not _saw_the_same(first[seed], second[seed])
    ]
    if other:
        sentence = (
            f"the runs of seed {_listed(other)} saw other data on the two sides: run both again"
        )
    else:
        sentence = "both sides saw the same data at each seed"
    return Check("same data", not other, sentence)


def _saw_the_same(one: Run, other: Run) -> bool:
    ours, theirs = one.attention.batch, other.attention.batch
    return all(np.array_equal(ours[name], theirs[name]) for name in ("keys", "values", "targets"))


def _paired(comparison: Comparison, first: Mapping[int, Run], second: Mapping[int, Run]) -> Check:
    """Check that each seed of one side is there on the other."""
    alone = [
        f"seed {_listed(sorted(lone))} of {label}"
        for label, lone in zip(
            comparison.labels,
            (first.keys() - second.keys(), second.keys() - first.keys()),
            strict=True,
        )
        if lone
    ]
    if not alone:
        return Check("paired", True, "each seed was run on both sides")
    return Check("paired", False, f"{' and '.join(alone)} is not there on the other side")


def _values(comparison: Comparison, side: Mapping[int, Run]) -> Values:
    return {seed: {0: run.metrics[comparison.metric]} for seed, run in side.items()}


def _answered(
    comparison: Comparison, both: Frame, values: Sequence[Values], answer: Answer
) -> Iterator[Check]:
    """Yield whether the answer has the paired difference, its interval and the right verdict."""
    test = paired_test(both, comparison.metric)
    ours = spread(pair_test(values[0], values[1], test).differences)
    minus = " minus ".join(comparison.labels)
    yield _stated(
        "difference", f"the mean difference of {minus}", [(answer.difference, ours.mean)], ours
    )
    ends = [(answer.low, ours.low), (answer.high, ours.high)]
    yield _stated("interval", "the 95% interval of the difference", ends, ours)
    better = cast(Literal["lower", "higher"], both.better.get(comparison.metric, "lower"))
    verdicts = compare(values, better, test)
    worse = [verdict.standing == "worse" for verdict in verdicts]
    right = comparison.labels[worse.index(False)] if any(worse) else UNDECIDED
    choices = f"{comparison.labels[0]}, {comparison.labels[1]} or {UNDECIDED}"
    if answer.better is None:
        sentence = f"which side is better is missing from {ANSWER}: choose {choices}"
    elif answer.better == right:
        sentence = f"`better: {right}` is what the paired test says of these seeds"
    else:
        sentence = (
            f"`better: {answer.better}` is not what the paired test says, by which "
            f"`attnexp results` compares rows: choose {choices}"
        )
    yield Check("conclusion", answer.better == right, sentence)


def _stated(
    name: str, what: str, pairs: Sequence[tuple[float | None, float | None]], ours: Spread
) -> Check:
    """Check that numbers were stated and are ours, within the tolerance."""
    if any(stated is None for stated, _ in pairs):
        return Check(name, False, f"{what} is missing from {ANSWER}")
    assert ours.high is not None
    assert ours.mean is not None
    reach = max(TOLERANCE * (ours.high - ours.mean), 1e-6 * abs(ours.mean))
    right = all(
        math.isclose(stated or 0.0, own or 0.0, rel_tol=0, abs_tol=reach) for stated, own in pairs
    )
    texts = " to ".join(number_text(stated) for stated, _ in pairs)
    how = "is" if right else "is not"
    return Check(
        name,
        right,
        f"{texts} {how} {what}, paired by seed, within {number_text(reach)} "
        f"({TOLERANCE:.0%} of half the interval)",
    )


def _listed(names: Sequence[object]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(map(str, names[:SHOWN])) + more
