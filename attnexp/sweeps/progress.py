"""Which jobs of a sweep are running, and how those that have ended did."""

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
from attnexp.sweeps.plan import Planned


class Board:
    """What is known of the jobs of a sweep, from their own files and from who runs them.

    `on_failure` is called for each new failure, from whichever thread has found it. `elsewhere` are
    the folders that another process was seen at work on.
    """

    def __init__(self, jobs: Iterable[Planned], on_failure: Callable[[], None]) -> None:
        self.outcomes: dict[Path, Outcome] = {}
        self.elsewhere: set[Path] = set()
        self._jobs = list(jobs)
        self._running: dict[Path, Planned] = {}
        self._seen: dict[Path, Stamp] = {job.folder: stamp(job.folder) for job in self._jobs}
        self._on_failure = on_failure
        self._guard = threading.RLock()
        self._start = time.monotonic()

    @property
    def total(self) -> int:
        """How many jobs there are."""
        return len(self._jobs)

    @property
    def running(self) -> list[Planned]:
        """The jobs that have begun and not ended."""
        with self._guard:
            return list(self._running.values())

    def remaining(self) -> list[Planned]:
        """The jobs that have not ended."""
        return [job for job in self._jobs if job.folder not in self.outcomes]

    def settle(self, job: Planned, outcome: Outcome) -> None:
        """Take in how a job ended."""
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

    def look(self) -> None:
        """Take in what the files say."""
        for job in self.remaining():
            seen = stamp(job.folder)
            if seen is not None and seen != self._seen[job.folder]:
                self._seen[job.folder] = seen
                self._take_in(job)

    def line(self) -> str:
        """How far the sweep is, in a few words."""
        ends = [outcome.status for outcome in list(self.outcomes.values())]
        failed = ends.count("failed")
        words = [f"{len(self.running)} running"]
        if failed:
            words.append(f"{failed} failed")
        if ends and len(ends) < self.total:
            seconds = (time.monotonic() - self._start) / len(ends) * (self.total - len(ends))
            words.append(f"{timedelta(seconds=round(seconds))} left")
        return ", ".join(words)

    def _take_in(self, job: Planned) -> None:
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
                self.settle(job, Outcome("skipped" if job.folder in self.elsewhere else "done"))
            elif status == "failed":
                self.settle(job, Outcome("failed", summary.error))
