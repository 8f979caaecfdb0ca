"""Runs the missing parts of a card, and reads the results of its runs."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from attnexp.cards.card_file import Card, RowResult, TrialResult
from attnexp.cards.cost import costs_of
from attnexp.cards.rows import CardRow
from attnexp.cards.trial import LevelName, Task
from attnexp.core import console
from attnexp.core.errors import RequestError, RunFailedError, shortened
from attnexp.core.time_limit import time_limit
from attnexp.runs.folder import Run
from attnexp.runs.origin.provenance import processor, versions
from attnexp.runs.run_status import Status
from attnexp.select.frame import Frame, make_frame
from attnexp.select.number import require_number
from attnexp.select.sample import Sample, sample_of
from attnexp.sweeps.line import compared_jobs, run_sweep
from attnexp.sweeps.plan import PlannedJob

FOLDER = Path("outputs") / "cards"
"""The folder of the runs, which all cards share."""

TUNED_AT = 1000
"""The seed at which settings are tuned. It is not compared."""

Command = Callable[[Sequence[str]], None]
"""Runs `attnexp` with arguments, and raises SystemExit if it fails."""


@dataclass(frozen=True)
class Effort:
    """How a card is made: its level, seeds, device, the most `minutes` of a row, and own code.

    `command` runs `attnexp` with other arguments.
    """

    level: LevelName
    seeds: int
    minutes: float
    device: str
    config_dir: Path | None
    command: Command

    def line(self, words: Sequence[str]) -> list[str]:
        """Return words with those that are the same in every trial."""
        own = ["--config-dir", str(self.config_dir)] if self.config_dir else []
        return [*own, *words, f"device={self.device}", "figures=false", f"output_dir={FOLDER}"]


def make_card(rows: Sequence[CardRow], tasks: Sequence[Task], effort: Effort) -> Card:
    """Run the missing parts of a card, and return it.

    A row of which no run ended within the minutes is not tried again in later trials.
    """
    start = time.monotonic()
    trials: list[TrialResult] = []
    given_up: dict[str, str] = {}
    with console.progress("card", len(tasks) * len(rows)) as advance:
        for i, task in enumerate(tasks):
            measured = []
            for j, row in enumerate(rows):
                advance(i * len(rows) + j, f"{task.name}: {row.label}")
                if row.label in given_up:
                    lost = Measured(lost=effort.seeds, why=given_up[row.label])
                    measured.append(lost)
                    continue
                measured.append(_measure(task, row, effort))
                if measured[-1].is_late:
                    given_up[row.label] = f"stopped before, in {task.name}"
            trials.append(_result(task, rows, measured))
        advance(len(tasks) * len(rows), "")
    return Card(
        subject=rows[0].label,
        level=effort.level,
        seeds=effort.seeds,
        date=datetime.now(UTC).date().isoformat(),
        versions=versions(),
        processor=processor() or "",
        device=effort.device,
        wall_minutes=round((time.monotonic() - start) / 60, 2),
        trials=trials,
    )


@dataclass(frozen=True)
class Measured:
    """The compared runs of a row in a trial, or the costs that were measured without runs.

    `lost` is the number of seeds without a result, `why` the first reason; a row that `is_late` was
    stopped before any run had ended.
    """

    runs: Sequence[Run] = ()
    costs: dict[str, dict[int, float]] = field(default_factory=dict)
    lost: int = 0
    why: str = ""
    is_late: bool = False


def _measure(task: Task, row: CardRow, effort: Effort) -> Measured:
    if task.trial.cost:
        try:
            line = effort.line(row.words)
            costs = costs_of(line, task.level.lengths, effort.seeds, 60 * effort.minutes)
        except (RequestError, RunFailedError) as error:
            return Measured(lost=effort.seeds, why=shortened(str(error)))
        return Measured(costs=costs)
    line = effort.line([*task.words, *row.words, f"seed=range(1,{effort.seeds + 1})"])
    line.append("hydra/launcher=parallel")
    if task.trial.tune:
        tuned = f"hydra.sweeper.tune={json.dumps(task.trial.tune)}"
        line += ["hydra/sweeper=tuned", tuned, f"hydra.sweeper.seeds=[{TUNED_AT}]"]
    why = late = ""
    with console.silent():
        jobs = _compared(line)
        if jobs is None or not all(job.found.status is Status.FINISHED for job in jobs):
            late = f"stopped after {effort.minutes:g} minutes"
            try:
                with time_limit(60 * effort.minutes, late):
                    run_sweep(line)
            except RunFailedError as error:
                why = str(error)
            jobs = _compared(line)
        runs = [Run(str(job.folder), job.found.summary) for job in jobs or () if job.found.summary]
        ended = [run for run in runs if run.finished]
        if task.trial.probe:
            _probe(ended, task.trial.probe, effort)
    errors = [job.found.error for job in jobs or () if job.found.error]
    counted = sum(run.finished or run.summary.diverged for run in runs)
    return Measured(
        runs,
        lost=(len(jobs) if jobs is not None else effort.seeds) - counted,
        why=shortened(errors[0] if errors and why != late else why),
        is_late=bool(why) and why == late and not ended,
    )


def _compared(line: Sequence[str]) -> list[PlannedJob] | None:
    """Return the compared jobs, None as long as no values could be chosen."""
    try:
        return compared_jobs(line)
    except RunFailedError:
        return None


def _probe(runs: Sequence[Run], names: Sequence[str], effort: Effort) -> None:
    """Make the interventions that runs lack. One that cannot be made leaves its numbers out."""
    own = ["--config-dir", str(effort.config_dir)] if effort.config_dir else []
    missing = [
        run.path
        for run in runs
        if not set(names) <= {row.intervention for row in run.interventions}
    ]
    if missing:
        try:
            effort.command(["probe", *missing, *names, *own])
        except SystemExit:
            return


def _result(task: Task, rows: Sequence[CardRow], measured: Sequence[Measured]) -> TrialResult:
    trial = task.trial
    frames = [make_frame(each.runs) for each in measured]
    samples = [_samples(task, frame) for frame in frames]
    first = next((own[trial.metric] for own in samples if trial.metric in own), Sample("", {}))
    metric, columns, better, unit = trial.metric, trial.columns, first.better, first.unit
    if trial.works is not None:
        metric, unit = f"values of {trial.works.setting} that work", ""
    if trial.cost:
        columns = [name for name in measured[0].costs if name != metric]
        better, unit = "lower", "s"
    return TrialResult(
        name=task.name,
        asks=task.asks,
        source=trial.source,
        words=task.words,
        tune=trial.tune,
        harder=trial.harder,
        metric=metric,
        columns=columns,
        equal_within=trial.equal_within,
        rows=[
            RowResult(
                row.label,
                list(row.words),
                each.costs or _numbers(task, metric, frame, own),
                [seed for seed, _ in own[trial.metric].diverged] if trial.metric in own else [],
                each.lost,
                each.why,
                _tuned(each.runs),
                sum(run.summary.seconds or 0.0 for run in each.runs),
            )
            for row, each, frame, own in zip(rows, measured, frames, samples, strict=True)
        ],
        better=better or "higher",
        unit=unit,
        chance=first.companions.get("chance"),
        examples=first.examples,
    )


def _samples(task: Task, frame: Frame) -> dict[str, Sample]:
    """Return the numbers of a trial that the runs of a row have."""
    found = {}
    for name in task.numbers:
        try:
            found[name] = sample_of(require_number(frame, name), name)
        except RequestError:
            continue
    return found


def _numbers(
    task: Task, metric: str, frame: Frame, samples: dict[str, Sample]
) -> dict[str, dict[int, float]]:
    works = task.trial.works
    if works is not None and task.trial.metric in frame.metrics:
        found: dict[int, float] = {}
        for seed, value in zip(frame.column("seed"), frame.column(task.trial.metric), strict=True):
            found[int(seed)] = found.get(int(seed), 0.0) + (value >= works.at_least)
        return {metric: found}
    return {
        name: {int(seed): own[0] for seed, own in sample.values.items()}
        for name, sample in samples.items()
        if sample.values
    }


def _tuned(runs: Sequence[Run]) -> dict[str, str]:
    first = next((run for run in runs if run.summary.tuning is not None), None)
    if first is None or first.summary.tuning is None:
        return {}
    return {name: str(first.settings.get(name)) for name in first.summary.tuning.values}
