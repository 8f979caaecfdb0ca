"""Progress of the runs of an output folder, read from that folder alone."""

import statistics
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from attnexp.core.errors import first_line
from attnexp.runs import files, lock
from attnexp.runs.folder import Run
from attnexp.runs.plan_file import StoredPlan, read_plans
from attnexp.runs.run_status import Status
from attnexp.runs.settings import clean
from attnexp.select.collect import OUTPUTS, collect_asked

LONGEST = 1e8
"""The longest plausible duration of a run in seconds: three years."""

Row = dict[str, str]
"""A row of a table: text by heading."""


@dataclass(frozen=True)
class Progress:
    """Progress of the runs of a folder. Its fields are those of `attnexp status --format json`.

    `counts` has the number of runs in each status that occurs. `running` has the name, process,
    start and progress of each running run, `ended_early` the name, status and error of each run to
    be run again. `to_do` are the folders of planned jobs of sweeps that have not begun.
    `seconds_left` estimates the time until all have finished, None if no run has. `skipped` says
    why folders cannot be read. `of_other_versions` and `of_studies` are sentences on runs that are
    not counted: runs of other results versions, and of cards, claims and chapters.
    """

    counts: dict[str, int]
    running: list[Row]
    ended_early: list[Row]
    to_do: list[str]
    seconds_left: float | None
    skipped: list[str]
    of_other_versions: list[str]
    of_studies: list[str]


def progress_of(folder: Path | None) -> Progress:
    """Return the progress of the runs at or below a folder.

    The default folder is `outputs`, without the runs of cards, claims and chapters.

    Raises RequestError for a path that is not a folder.
    """
    collected = collect_asked(() if folder is None else [folder])
    root = Path(OUTPUTS) if folder is None else folder
    plans = list(read_plans(root))
    planned = {job for plan in plans if isinstance(plan, StoredPlan) for job in plan.jobs}
    runs = {_name(run, root): run for run in collected.runs}
    to_do = sorted(planned - runs.keys())
    counts = Counter(run.status for run in runs.values()) + Counter({Status.NEW: len(to_do)})
    running = [_running(name, run) for name, run in runs.items() if run.status is Status.RUNNING]
    early = [name for name, run in runs.items() if run.status.is_repeated]
    waiting = len(to_do) + len(planned.intersection(early))
    return Progress(
        counts={status.word: counts[status] for status in Status if counts[status]},
        running=running,
        ended_early=[_ended(name, runs[name]) for name in early],
        to_do=[clean(job) for job in to_do],
        seconds_left=_seconds_left(list(runs.values()), len(running), waiting),
        skipped=[*collected.skipped, *(plan for plan in plans if isinstance(plan, str))],
        of_other_versions=collected.of_other_versions,
        of_studies=collected.apart("status"),
    )


def _name(run: Run, root: Path) -> str:
    return str(run.folder.relative_to(root)) if run.folder != root else run.folder.name


def _running(name: str, run: Run) -> Row:
    row = files.last_metrics(run.folder)
    names = {"epoch": "epoch", "step": "update", "loss": "loss"}
    parts = [f"{word} {row[column]}" for column, word in names.items() if row.get(column)]
    most = run.group("train").get("max_epochs")
    if parts and isinstance(most, int):
        parts[0] += f" of {most}"
    return {
        "running": clean(name),
        "where": clean(lock.holder(run.folder)),
        "since": clean(str(run.summary.started)),
        "progress": clean(", ".join(parts) or "before its first epoch"),
    }


def _ended(name: str, run: Run) -> Row:
    error = first_line(run.summary.error, "its process is gone")
    return {"to run again": clean(name), "status": run.status.word, "error": clean(error)}


def _seconds_left(runs: list[Run], running: int, waiting: int) -> float | None:
    """Return the seconds for the remaining runs at the mean duration of finished runs.

    Running runs count half. Durations that are not plausible are ignored.
    """
    known = (run.summary.seconds for run in runs if run.finished)
    seconds = [each for each in known if each is not None and 0 < each < LONGEST]
    if not seconds or not running + waiting:
        return None
    return statistics.fmean(seconds) * (waiting + running / 2) / max(1, running)
