"""How far the runs of an output folder are, as anybody can see it who sees the folder."""

import statistics
from dataclasses import dataclass
from pathlib import Path

from attnexp.runs import files, lease
from attnexp.runs.collection import collect
from attnexp.runs.run import Run
from attnexp.runs.settings import clean
from attnexp.runs.state import RunState
from attnexp.runs.stored_plan import StoredPlan, read_plans

WORDS: dict[RunState, str] = {
    "finished": "done",
    "running": "running",
    "failed": "failed",
    "interrupted": "interrupted",
    "died": "died",
}
"""The states of runs in words, in the order in which they are listed."""

TO_DO = "to do"

LONGEST = 1e8
"""Seconds of a run, three years, beyond which its duration is not believed."""


@dataclass(frozen=True)
class RunningRun:
    """A run that is at work: in which process, since when, and after which epoch."""

    name: str
    where: str
    since: str
    how_far: str


@dataclass(frozen=True)
class EndedRun:
    """A run that has ended early, and why."""

    name: str
    state: str
    why: str


@dataclass(frozen=True)
class Progress:
    """How far the runs of a folder are.

    `counts` has the number of runs in each state that occurs. `to_do` are the folders of jobs that
    the plan of a sweep names and that have not begun. `rest` estimates the seconds until all have
    finished, None where there is nothing to go by. `skipped` says what cannot be read.
    """

    counts: dict[str, int]
    running: tuple[RunningRun, ...]
    ended_early: tuple[EndedRun, ...]
    to_do: tuple[str, ...]
    rest: float | None
    skipped: tuple[str, ...]


def look_at(root: Path) -> Progress:
    """Return how far the runs at or below a folder are.

    Raises RequestError for a path that is not a folder.
    """
    collected = collect([root])
    plans = list(read_plans(root))
    planned = {job for plan in plans if isinstance(plan, StoredPlan) for job in plan.jobs}
    runs = {_name(run, root): run for run in collected.runs}
    to_do = sorted(planned - runs.keys())
    states: dict[str, int] = dict.fromkeys(WORDS.values(), 0)
    for run in runs.values():
        states[WORDS[run.state]] += 1
    states[TO_DO] = len(to_do)
    running = {name: run for name, run in runs.items() if run.state == "running"}
    early = {
        name: run for name, run in runs.items() if run.state in ("died", "failed", "interrupted")
    }
    return Progress(
        counts={state: count for state, count in states.items() if count},
        running=tuple(_at_work(name, run) for name, run in running.items()),
        ended_early=tuple(_ended(name, run) for name, run in early.items()),
        to_do=tuple(clean(job) for job in to_do),
        rest=_rest(list(runs.values()), len(running), len(to_do) + len(early.keys() & planned)),
        skipped=(*collected.skipped, *(plan for plan in plans if isinstance(plan, str))),
    )


def _name(run: Run, root: Path) -> str:
    return str(run.folder.relative_to(root)) if run.folder != root else run.folder.name


def _at_work(name: str, run: Run) -> RunningRun:
    row = files.last_metrics(run.folder)
    most = run.group("train").get("max_epochs")
    parts = {"epoch": "epoch", "step": "update", "loss": "loss"}
    far = [f"{word} {row[column]}" for column, word in parts.items() if row.get(column)]
    if far and isinstance(most, int):
        far[0] += f" of {most}"
    return RunningRun(
        name=clean(name),
        where=clean(str(lease.read(run.folder) or "another process")),
        since=clean(str(run.summary.started)),
        how_far=clean(", ".join(far) or "before its first epoch"),
    )


def _ended(name: str, run: Run) -> EndedRun:
    why = (run.summary.error or "its process is gone").strip().partition("\n")[0]
    return EndedRun(clean(name), WORDS[run.state], clean(why))


def _rest(runs: list[Run], running: int, waiting: int) -> float | None:
    """Return the seconds that what is left takes if it takes as long as what has finished.

    Runs at work are taken to be halfway. Durations that no run has, of folders of others, are left
    out.
    """
    known = (run.summary.seconds for run in runs if run.finished)
    seconds = [each for each in known if each is not None and 0 < each < LONGEST]
    if not seconds or not running + waiting:
        return None
    return statistics.fmean(seconds) * (waiting + running / 2) / max(1, running)
