"""The measurements of a row in a trial, from its stored runs."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import msgspec

from attnexp.cards.card_file import RowResult, TrialResult
from attnexp.cards.rows import CardRow
from attnexp.cards.trial import STEPS, TOO_LARGE, TOO_SMALL, Escapes, SizedTrial, Works
from attnexp.core.errors import RequestError, shortened
from attnexp.runs.folder import Run
from attnexp.select.frame import make_frame
from attnexp.select.number import number_of
from attnexp.select.sample import Sample, sample_of_row

NOTHING = Sample("", {})


class MeasuredRow(NamedTuple):
    """The measurements of a row in a trial.

    `sample` is the deciding number by seed. `computed` are all metrics of the runs by seed; rows
    with equal metrics compute the same.
    """

    result: RowResult
    sample: Sample = NOTHING
    computed: frozenset[object] = frozenset()


def row_result(
    task: SizedTrial, row: CardRow, runs: Sequence[Run], jobs: int, why: str = ""
) -> MeasuredRow:
    """Return the measurements of a row.

    `runs` are the runs that have begun, of a number of `jobs`. `why` is the reason of those without
    a result.
    """
    numbers, sample = _numbers(task, runs)
    counted = sum(run.has_ended for run in runs)
    result = RowResult(
        row.label,
        list(row.words),
        numbers,
        diverged=[run.seed for run in runs if run.summary.diverged and not task.trial.works],
        lost=jobs - counted,
        why=shortened(why),
        tuned=_tuned(runs),
        at_end=_at_end(runs),
        seconds=sum(run.summary.seconds or 0.0 for run in runs),
    )
    computed = frozenset((run.seed, *sorted(run.metrics.items())) for run in runs)
    return MeasuredRow(result, sample, computed)


def trial_result(task: SizedTrial, measured: Sequence[MeasuredRow]) -> TrialResult:
    """Return the measurements of a trial from those of its rows, the subject first."""
    trial, subject = task.trial, measured[0]
    rows = [
        msgspec.structs.replace(own.result, is_subject=True)
        if own is not subject and own.computed and own.computed == subject.computed
        else own.result
        for own in measured
    ]
    sample = next((own.sample for own in measured if own.sample is not NOTHING), NOTHING)
    return TrialResult(
        name=task.name,
        asks=task.asks,
        source=trial.source,
        words=task.words,
        tune=trial.tune,
        harder=trial.harder,
        metric=task.metric,
        columns=list(
            {name: None for row in rows for name in row.numbers} if trial.cost else trial.columns
        ),
        counted=trial.counted,
        of_products=trial.of_products,
        equal_within=trial.equal_within,
        rows=rows,
        better="lower" if trial.cost else sample.better or "higher",
        unit=sample.unit,
        chance=sample.companions.get("chance"),
        examples=sample.examples,
    )


def _numbers(task: SizedTrial, runs: Sequence[Run]) -> tuple[dict[str, dict[int, float]], Sample]:
    """Return the numbers of a row by name and seed, and the sample of the deciding one."""
    frame, trial = make_frame(runs), task.trial
    if trial.works is not None:
        if not any(number_of(run, trial.metric) is not None for run in runs):
            return {}, NOTHING
        largest = {name: _largest(runs, name) for name in task.numbers if name != trial.metric}
        numbers = {name: values for name, values in largest.items() if values}
        numbers |= _working(runs, task, trial.works)
        return numbers, Sample(task.metric, {}, "", "higher")
    samples = {}
    for name in task.numbers:
        with suppress(RequestError):  # no run has the number
            samples[name] = sample_of_row(frame, name)
    numbers = {
        name: {int(seed): own[0] for seed, own in sample.values.items()}
        for name, sample in samples.items()
    }
    if trial.escapes is not None:
        numbers[STEPS] = dict(_steps_to_escape(runs, trial.escapes))
    return numbers, samples.get(trial.metric, NOTHING)


def _working(runs: Sequence[Run], task: SizedTrial, works: Works) -> dict[str, dict[int, float]]:
    """Return how many values of a setting work at each seed, and how many are too small or large.

    A seed with a run that has not ended is left out. A seed at which no value works has no values
    that are too small or large.
    """
    found: dict[str, dict[int, float]] = {task.metric: {}, TOO_SMALL: {}, TOO_LARGE: {}}
    for seed in dict.fromkeys(run.seed for run in runs):
        ended = [run for run in runs if run.seed == seed and run.has_ended]
        if len(ended) < task.runs_per_seed:
            continue
        numbers = [number_of(run, task.trial.metric) for run in ended]
        tried = [float(str(run.settings[works.setting])) for run in ended]
        working = [
            value
            for value, number in zip(tried, numbers, strict=True)
            if number is not None and number >= works.at_least
        ]
        found[task.metric][seed] = float(len(working))
        if working:
            found[TOO_SMALL][seed] = float(sum(value < min(working) for value in tried))
            found[TOO_LARGE][seed] = float(sum(value > max(working) for value in tried))
    return found


def _largest(runs: Sequence[Run], name: str) -> dict[int, float]:
    """Return the largest value of a number among the runs of each seed."""
    found: dict[int, float] = {}
    for run in runs:
        if (value := number_of(run, name)) is not None:
            found[run.seed] = max(value, found.get(run.seed, value))
    return found


def _steps_to_escape(runs: Sequence[Run], escapes: Escapes) -> Iterator[tuple[int, float]]:
    """Yield the seed and the first step at or below the bound, for runs that reach the bound."""
    for run in runs:
        epochs = run.epochs
        if escapes.column not in epochs:
            continue
        passed = epochs["step"][epochs[escapes.column] <= escapes.at_most]
        if len(passed):
            yield run.seed, float(passed[0])


def _at_end(runs: Sequence[Run]) -> list[str]:
    tuned = (run.summary.tuning for run in runs)
    return next((list(way.at_end) for way in tuned if way is not None), [])


def _tuned(runs: Sequence[Run]) -> dict[str, str]:
    for run in runs:
        if run.summary.tuning is not None:
            return {name: str(run.settings.get(name)) for name in run.summary.tuning.values}
    return {}
