"""The progress of a sweep: which jobs are running, and the outcomes of those that have ended."""

import threading
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path

from rich.markup import escape

from attnexp import console
from attnexp.runs.files import UnreadableRunError
from attnexp.runs.state import Stamp, stamp
from attnexp.runs.summary import read_summary
from attnexp.sweeps.outcome import Outcome, first_line
from attnexp.sweeps.plan import PlannedJob


class SweepProgress:
    """Gathers the outcomes of jobs from their folders and from the executor.

    `on_failure` is called for each failed job, from the thread that notices it. `elsewhere` holds
    the folders of jobs that another process was seen to run.
    """

    def __init__(self, jobs: Iterable[PlannedJob], on_failure: Callable[[], None]) -> None:
        self.outcomes: dict[Path, Outcome] = {}
        self.elsewhere: set[Path] = set()
        self._jobs = list(jobs)
        self._running: dict[Path, PlannedJob] = {}
        self._seen: dict[Path, Stamp] = {job.folder: stamp(job.folder) for job in self._jobs}
        self._on_failure = on_failure
        self._guard = threading.RLock()
        self._start = time.monotonic()

    @property
    def total(self) -> int:
        """The number of jobs."""
        return len(self._jobs)

    @property
    def running(self) -> list[PlannedJob]:
        """The jobs that have started and not ended."""
        with self._guard:
            return list(self._running.values())

    @property
    def remaining(self) -> list[PlannedJob]:
        """The jobs that have not ended."""
        return [job for job in self._jobs if job.folder not in self.outcomes]

    def record(self, job: PlannedJob, outcome: Outcome) -> None:
        """Record the outcome of a job, and print it where the job has failed."""
        with self._guard:
            known = self.outcomes.get(job.folder)
            self.outcomes[job.folder] = outcome
            self._running.pop(job.folder, None)
        if outcome.status == "failed" and (known is None or known.status != "failed"):
            console.out.print(
                f"[red]failed:[/] {escape(job.label)}: {escape(first_line(outcome.error))}",
                soft_wrap=True,
            )
            self._on_failure()

    def update(self) -> None:
        """Read the summaries that have changed."""
        for job in self.remaining:
            seen = stamp(job.folder)
            if seen is not None and seen != self._seen[job.folder]:
                self._seen[job.folder] = seen
                self._read(job)

    def text(self) -> str:
        """Return the number of running and failed jobs and the time left, as a phrase."""
        statuses = [outcome.status for outcome in list(self.outcomes.values())]
        ended, failed = len(statuses), statuses.count("failed")
        parts = [f"{len(self.running)} running"]
        if failed:
            parts.append(f"{failed} failed")
        if 0 < ended < self.total:
            seconds = (time.monotonic() - self._start) / ended * (self.total - ended)
            parts.append(f"{timedelta(seconds=round(seconds))} left")
        return ", ".join(parts)

    def _read(self, job: PlannedJob) -> None:
        try:
            summary = read_summary(job.folder)
        except UnreadableRunError:
            return
        status = summary.status
        with self._guard:
            if job.folder in self.outcomes:
                return
            if status == "running":
                self._running[job.folder] = job
            elif status == "finished":
                self.record(job, Outcome("skipped" if job.folder in self.elsewhere else "done"))
            elif status == "failed":
                self.record(job, Outcome("failed", summary.error))
