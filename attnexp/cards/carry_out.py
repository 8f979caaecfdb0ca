"""Runs the missing parts of a card, and reads the results of its runs."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from attnexp.cards.card_file import Card, RowResult, TrialResult
from attnexp.cards.cost import costs_of
from attnexp.cards.rows import CardRow
from attnexp.cards.trial import STEPS, Escapes, LevelName, Task, Works
from attnexp.config.laws import read_laws
from attnexp.config.probing import probe_missing
from attnexp.config.trust import read_trust
from attnexp.core import console
from attnexp.core.errors import RequestError, RunFailedError, shortened
from attnexp.core.time_limit import time_limit
from attnexp.runs.folder import Run
from attnexp.runs.origin.command_line import own_words
from attnexp.runs.origin.provenance import processor, versions
from attnexp.select.configurations import comparisons
from attnexp.select.frame import make_frame
from attnexp.select.number import number_of, require_number
from attnexp.select.sample import Sample, sample_of
from attnexp.sweeps.line import compared_jobs, jobs_of, run_sweep
from attnexp.sweeps.plan import PlannedJob

FOLDER = Path("outputs") / "cards"
"""The folder of the runs, which all cards share."""

TUNED_AT = 1000
"""The seed at which settings are tuned. It is not compared."""

LATE = "stopped"
"""The first word of the reason of a row that took too long."""

NOTHING = Sample("", {})
"""The sample of a row without a result."""


@dataclass(frozen=True)
class Effort:
    """How a card is made: its level, seeds, device, the most `minutes` of a row, and own code."""

    level: LevelName
    seeds: int
    minutes: float
    device: str
    config_dir: Path | None

    def line(self, words: Sequence[str]) -> list[str]:
        """Return words with those that are the same in every trial."""
        own = own_words(self.config_dir)
        return [*own, *words, f"device={self.device}", "figures=false", f"output_dir={FOLDER}"]


def make_card(rows: Sequence[CardRow], tasks: Sequence[Task], effort: Effort) -> Card:
    """Run the missing parts of a card, and return it.

    A row of which no run ended within the minutes is not tried again in later trials. Raises
    RequestError, before anything is run, for a row with an unknown choice.
    """
    # Ctrl-C while torch is imported may come out as an error of torch, which a trial would record
    import torch  # noqa: F401

    for row in rows:  # a setting of an architecture needs one that has it, which trials choose
        jobs_of(effort.line([word for word in row.words if not word.startswith("arch.")]))
    start = time.monotonic()
    trials: list[TrialResult] = []
    given_up: dict[str, RowResult] = {}
    with console.progress("card", len(tasks) * len(rows)) as advance:
        for i, task in enumerate(tasks):
            measured: list[tuple[RowResult, Sample]] = []
            for j, row in enumerate(rows):
                advance(i * len(rows) + j, f"{task.name}: {row.label}")
                if row.label in given_up:
                    measured.append((given_up[row.label], NOTHING))
                    continue
                measured.append(_measure(task, row, effort))
                result = measured[-1][0]
                if result.why.startswith(LATE) and not result.numbers:
                    why = f"{result.why} in {task.name}"
                    given_up[row.label] = msgspec.structs.replace(result, why=why)
            trials.append(_result(task, measured))
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


def _measure(task: Task, row: CardRow, effort: Effort) -> tuple[RowResult, Sample]:
    """Return the measurements of a row in a trial, and its sample of the number that decides."""
    result = RowResult(row.label, list(row.words), lost=effort.seeds)
    late = f"{LATE} after {effort.minutes:g} minutes"
    if task.trial.cost:
        try:
            line = effort.line(row.words)
            costs = costs_of(line, task.level.lengths, effort.seeds, 60 * effort.minutes, late)
        except (RequestError, RunFailedError) as error:
            return msgspec.structs.replace(result, why=shortened(str(error))), NOTHING
        return msgspec.structs.replace(result, numbers=costs, lost=0), NOTHING
    line = effort.line([*task.words, *row.words, f"seed=range(1,{effort.seeds + 1})"])
    line.append(f"hydra/launcher={task.trial.launcher}")
    if task.trial.tune:
        tuned = f"hydra.sweeper.tune={json.dumps(task.trial.tune)}"
        line += ["hydra/sweeper=tuned", tuned, f"hydra.sweeper.seeds=[{TUNED_AT}]"]
    why, jobs = "", list[PlannedJob]()
    with console.silent():
        try:
            jobs = _compared(line)
            if not jobs or not all(_is_done(job, task.trial.tune) for job in jobs):
                try:
                    with time_limit(60 * effort.minutes, late):
                        run_sweep(line)
                finally:
                    jobs = _compared(line)
        except (RequestError, RunFailedError) as error:
            why = str(error)
        if task.trial.probe:
            _probe(_runs(jobs), task.trial.probe, effort.config_dir)
    runs = _runs(jobs)  # anew, with their interventions
    errors = [job.found.error for job in jobs if job.found.error and why != late]
    numbers, sample = _numbers(task, runs)
    counted = sum(run.finished or run.summary.diverged for run in runs)
    result = msgspec.structs.replace(
        result,
        numbers=numbers,
        diverged=[run.seed for run in runs if run.summary.diverged and not task.trial.works],
        lost=(len(jobs) or effort.seeds) - counted,
        why=shortened((errors or [why])[0]),
        tuned=_tuned(runs),
        seconds=sum(run.summary.seconds or 0.0 for run in runs),
    )
    return result, sample


def _compared(line: Sequence[str]) -> list[PlannedJob]:
    """Return the compared jobs of a sweep, none as long as no values could be chosen."""
    with suppress(RunFailedError):
        return compared_jobs(line)
    return []


def _is_done(job: PlannedJob, tune: Sequence[str]) -> bool:
    """Return whether a job has ended, and whether how it was tuned is recorded if it was."""
    found = job.found
    recorded = not tune or (found.summary is not None and found.summary.tuning is not None)
    return found.status.counts_in_means and recorded


def _runs(jobs: Sequence[PlannedJob]) -> list[Run]:
    return [Run(str(job.folder), job.found.summary) for job in jobs if job.found.summary]


def _probe(runs: Sequence[Run], names: Sequence[str], config_dir: Path | None) -> None:
    """Make the interventions that runs lack. One that cannot be made leaves its numbers out."""
    with suppress(Exception, SystemExit):  # code of one's own may raise anything
        laws, trust = read_laws(config_dir), read_trust([], config_dir)
        for comparison in comparisons(runs):
            for configuration in comparison.configurations:
                probe_missing(configuration.runs, names, laws, trust)


def _numbers(task: Task, runs: Sequence[Run]) -> tuple[dict[str, dict[int, float]], Sample]:
    """Return the numbers of a trial by seed, and the sample of the one that decides."""
    frame, trial = make_frame(runs), task.trial
    samples = {}
    for name in task.numbers:
        with suppress(RequestError):  # no run has the number
            samples[name] = sample_of(require_number(frame, name), name)
    numbers = {
        name: {int(seed): own[0] for seed, own in sample.values.items()}
        for name, sample in samples.items()
    }
    if trial.escapes is not None:
        numbers[STEPS] = dict(_steps_to_escape(runs, trial.escapes))
    if trial.works is not None and trial.metric in samples:
        numbers = {name: _largest(runs, name) for name in samples if name != trial.metric}
        numbers[task.metric] = _working(runs, trial.metric, trial.works)
        samples[trial.metric] = Sample(task.metric, {}, "", "higher")
    return numbers, samples.get(trial.metric, NOTHING)


def _working(runs: Sequence[Run], metric: str, works: Works) -> dict[int, float]:
    """Return the number of runs of each seed that work."""
    found = dict.fromkeys((run.seed for run in runs), 0.0)
    for run in runs:
        value = number_of(run, metric)
        found[run.seed] += value is not None and value >= works.at_least
    return found


def _largest(runs: Sequence[Run], name: str) -> dict[int, float]:
    """Return the largest value of a number that the runs of each seed have."""
    found: dict[int, float] = {}
    for run in runs:
        if (value := number_of(run, name)) is not None:
            found[run.seed] = max(value, found.get(run.seed, value))
    return found


def _steps_to_escape(runs: Sequence[Run], escapes: Escapes) -> Iterator[tuple[int, float]]:
    """Yield the seed and the first step below the bound of each run that has passed it."""
    for run in runs:
        epochs = run.epochs
        if escapes.column not in epochs:
            continue
        passed = epochs["step"][epochs[escapes.column] <= escapes.at_most]
        if len(passed):
            yield run.seed, float(passed[0])


def _tuned(runs: Sequence[Run]) -> dict[str, str]:
    for run in runs:
        if run.summary.tuning is not None:
            return {name: str(run.settings.get(name)) for name in run.summary.tuning.values}
    return {}


def _result(task: Task, measured: Sequence[tuple[RowResult, Sample]]) -> TrialResult:
    trial = task.trial
    rows = [row for row, _ in measured]
    sample = next((sample for _, sample in measured if sample is not NOTHING), NOTHING)
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
        equal_within=trial.equal_within,
        rows=rows,
        better="lower" if trial.cost else sample.better or "higher",
        unit=sample.unit,
        chance=sample.companions.get("chance"),
        examples=sample.examples,
    )
