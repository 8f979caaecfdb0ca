"""Makes a card: runs its missing parts, and reads the results of its runs."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from attnexp.cards.card_file import Card, RowResult, TrialResult
from attnexp.cards.cost import CostsByRound, costs_in_turns, why_not_measured
from attnexp.cards.lines import FOLDER, LATE, Effort, are_done, compared
from attnexp.cards.numbers import MeasuredRow, row_result, trial_result
from attnexp.cards.rows import CardRow
from attnexp.cards.trial import SizedTrial
from attnexp.config.documents import read_document
from attnexp.config.groups import choices
from attnexp.config.probing import probe_missing
from attnexp.config.schema import TARGET, require_packages
from attnexp.core import console
from attnexp.core.errors import (
    FULL,
    MachineError,
    RequestError,
    RunFailedError,
    causes,
    refusal,
    shortened,
)
from attnexp.core.time_limit import time_limit
from attnexp.runs.folder import Run
from attnexp.runs.key import RESULTS_VERSION
from attnexp.runs.origin.provenance import processor, versions
from attnexp.select.configurations import comparisons
from attnexp.sweeps.line import jobs_of, run_sweep
from attnexp.sweeps.plan import PlannedJob


def make_card(rows: Sequence[CardRow], tasks: Sequence[SizedTrial], effort: Effort) -> Card:
    """Run the missing parts of a card, and return it.

    A row that ends no run in time is not tried again in later trials. Raises RequestError for a row
    with an unknown choice, before anything is run, and MachineError if no worker starts or the disk
    is full, so that the card does not blame the row.
    """
    # Ctrl-C while torch is imported may come out as an error of torch, which a trial would record
    import torch  # noqa: F401

    for row in rows:  # a setting of an architecture needs one that has it, which trials choose
        jobs_of(effort.line([word for word in row.words if not word.startswith("arch.")]))
    _name_missing_packages(tasks)
    start = time.monotonic()
    trials: list[TrialResult] = []
    given_up: dict[str, RowResult] = {}
    with console.progress("card", len(tasks) * len(rows)) as advance:
        for i, task in enumerate(tasks):
            found: list[MeasuredRow] = []
            if task.trial.cost:
                advance(i * len(rows), task.name)
                trials.append(trial_result(task, _costs(task, rows, effort)))
                continue
            for j, row in enumerate(rows):
                advance(i * len(rows) + j, f"{task.name}: {row.label}")
                if row.label in given_up:
                    lost = effort.seeds * task.runs_per_seed
                    result = msgspec.structs.replace(given_up[row.label], lost=lost)
                    found.append(MeasuredRow(result))
                    continue
                found.append(measured(task, row, effort))
                result = found[-1].result
                if result.why.startswith(LATE) and not result.numbers:
                    why = f"{result.why} in {task.name}"
                    given_up[row.label] = msgspec.structs.replace(result, why=why)
            trials.append(trial_result(task, found))
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
        results_version=RESULTS_VERSION,
    )


def _name_missing_packages(tasks: Sequence[SizedTrial]) -> None:
    """Say which trials need a package that is not installed: their rows get no number."""
    files = {f"data={choice.name}": choice.path for choice in choices("data")}
    for task in tasks:
        for word in files.keys() & set(task.words):
            target = read_document(files[word], dict[str, Any])[TARGET]
            try:
                require_packages({target: task.name})
            except RequestError as error:
                console.warn_aside(f"not measured: {error}")


def measured(task: SizedTrial, row: CardRow, effort: Effort) -> MeasuredRow:
    """Run a row in a trial and return its measurements. Raises MachineError as `make_card`."""
    late = effort.late
    line, tune = effort.sweep(task, row), task.trial.tune
    why, jobs = "", list[PlannedJob]()
    with console.screen.silent():
        try:
            jobs = compared(line)
            if not are_done(jobs, tune):
                try:
                    with time_limit(60 * effort.minutes, late):
                        run_sweep(line)
                finally:
                    jobs = compared(line)
        except (RequestError, RunFailedError) as error:
            _require_room(error)
            why = str(error)
        if task.trial.probe:
            _probe(_runs(jobs), task.trial.probe, effort.config_dir)
    errors = [job.found.error for job in jobs if job.found.error and why != late]
    # read anew, with their interventions
    count = len(jobs) or effort.seeds * task.runs_per_seed
    return row_result(task, row, _runs(jobs), count, (errors or [why])[0])


def _costs(task: SizedTrial, rows: Sequence[CardRow], effort: Effort) -> list[MeasuredRow]:
    """Return the costs of each row, measured in turns, or why it has none.

    Rounds stand in the place of seeds.
    """
    refused = {row.label: why for row in rows if (why := why_not_measured(row.words))}
    lines = {row.label: effort.line(row.words) for row in rows if row.label not in refused}
    seconds, rounds = 60 * effort.minutes, effort.seeds
    costs = costs_in_turns([*lines.values()], task.level.lengths, rounds, seconds, effort.late)
    by_row = {**refused, **dict(zip(lines, costs, strict=True))}
    return [MeasuredRow(_cost_result(row, by_row[row.label], rounds)) for row in rows]


def _cost_result(row: CardRow, found: CostsByRound | str, rounds: int) -> RowResult:
    """Return the costs of a row, or why it has none."""
    words = list(row.words)
    if isinstance(found, str):
        return RowResult(row.label, words, lost=rounds, why=shortened(found))
    return RowResult(row.label, words, found)


def _runs(jobs: Sequence[PlannedJob]) -> list[Run]:
    return [Run(str(job.folder), job.found.summary) for job in jobs if job.found.summary]


def _probe(runs: Sequence[Run], names: Sequence[str], config_dir: Path | None) -> None:
    """Run the missing interventions on runs. After an error the rest of their numbers are missing.

    Raises MachineError if the disk is full.
    """
    try:
        for comparison in comparisons(runs):
            for configuration in comparison.configurations:
                probe_missing(configuration.runs, names, config_dir)
    except (Exception, SystemExit) as error:  # code of one's own may raise anything
        _require_room(error)


def _require_room(error: BaseException) -> None:
    """Raise MachineError if the error is one, or if a full disk has caused the error."""
    if isinstance(error, MachineError):
        raise error
    for cause in causes(error):
        if isinstance(cause, OSError) and cause.errno in FULL:
            raise MachineError(
                f"{cause.filename or FOLDER} cannot be written: {refusal(cause)}"
            ) from error
