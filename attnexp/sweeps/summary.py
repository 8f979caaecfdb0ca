"""The tables and remarks that a sweep prints before it runs and after it has ended."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rich.markup import escape

from attnexp import console
from attnexp.runs.state import STATES, warn_of_old
from attnexp.sweeps.outcome import Outcome, Status, first_line
from attnexp.sweeps.plan import Plan, PlannedJob

STATUSES: Sequence[Status] = ("done", "skipped", "failed", "interrupted", "not run")

ROWS = 20
"""The largest number of jobs in a table."""


def show_plan(plan: Plan) -> None:
    """Show the number of jobs in each state, and the jobs that would be run."""
    counts = Counter(STATES[job.found.state] for job in plan.jobs)
    _show_counts([(state, counts[state]) for state in STATES.values() if counts[state]])
    to_do = plan.to_do
    if to_do:
        table = console.plain_table(["to do", "state", "folder"])
        for job in to_do[:ROWS]:
            table.add_row(
                escape(job.label), STATES[job.found.state], escape(console.near(job.folder))
            )
        console.out.print(table)
        _more(to_do, "jobs")


def show_remarks(plan: Plan) -> None:
    """Print remarks on the plan: repeated jobs, older results, unreadable summaries."""
    if plan.repeated:
        times = "one job is" if plan.repeated == 1 else f"{plan.repeated} jobs are"
        console.say(f"{times} named twice: each runs once")
    warn_of_old(plan.old_versions)
    for job in plan.jobs:
        if job.found.state == "unreadable":
            console.warn(f"{job.found.error}: the job runs again")


def show_outcomes(jobs: Iterable[PlannedJob], outcomes: Mapping[Path, Outcome]) -> None:
    """Show the number of jobs with each outcome, and the jobs that failed."""
    ends = [(job, outcomes.get(job.folder, Outcome("not run"))) for job in jobs]
    counts = Counter(outcome.status for _, outcome in ends)
    _show_counts([(status, counts[status]) for status in STATUSES if counts[status]])
    failed = [(job, outcome) for job, outcome in ends if outcome.status == "failed"]
    if failed:
        table = console.plain_table(["failed", "error", "log"])
        for job, outcome in failed[:ROWS]:
            log = console.near(job.folder / "attnexp.log")
            table.add_row(escape(job.label), escape(first_line(outcome.error)), escape(log))
        console.out.print(table)
        _more(failed, "failed jobs")


def _show_counts(counts: Sequence[tuple[str, int]]) -> None:
    table = console.plain_table(["status", "jobs"], right=["jobs"])
    for status, count in counts:
        table.add_row(status, str(count))
    console.out.print(table)


def _more(listed: Sequence[object], what: str) -> None:
    if len(listed) > ROWS:
        console.say(f"and {len(listed) - ROWS} more {what}")
