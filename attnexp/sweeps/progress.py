"""The progress of a sweep: the outcomes of its jobs, and their display while it runs.

Outcomes are read from the folders of the jobs, and so are the same under every launcher.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table

from attnexp.core import console
from attnexp.core.errors import first_line
from attnexp.runs import files
from attnexp.runs.files import UnreadableRunError
from attnexp.runs.place import Stamp, stamp
from attnexp.runs.run_status import Status
from attnexp.runs.summary import read_summary
from attnexp.sweeps.job_outcome import JobOutcome
from attnexp.sweeps.plan import PlannedJob

INTERVAL = 0.25
"""Seconds between two updates, or more if an update takes long."""

BARS = 8
"""The largest number of running jobs that have bars of their own."""


class SweepProgress:
    """Gathers the outcomes of jobs from their folders and from the executor.

    `on_failure` is called for each failed job, from the thread that notices it. `elsewhere` holds
    the folders of jobs that another process was seen to run, `failed` counts the jobs that failed.
    """

    def __init__(self, jobs: Iterable[PlannedJob], on_failure: Callable[[], None]) -> None:
        self.outcomes: dict[Path, JobOutcome] = {}
        self.elsewhere: set[Path] = set()
        self.failed = 0
        self._errors: set[str] = set()
        self._jobs = list(jobs)
        self._running: dict[Path, PlannedJob] = {}
        self._seen: dict[Path, Stamp] = {job.folder: stamp(job.folder) for job in self._jobs}
        self._on_failure = on_failure
        self._guard = threading.RLock()
        self._begun: dict[Path, float] = {}
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

    def record(self, job: PlannedJob, outcome: JobOutcome) -> None:
        """Record the outcome of a job, and print its error if that is a new one in this sweep."""
        with self._guard:
            known = self.outcomes.get(job.folder)
            self.outcomes[job.folder] = outcome
            self._running.pop(job.folder, None)
        if outcome.status is Status.FAILED and (known is None or known.status is not Status.FAILED):
            error = first_line(outcome.error)
            if error not in self._errors:
                text = f"[bad]failed:[/] {escape(job.label)}: {escape(error)}"
                console.screen.out.print(text, soft_wrap=True)
            self._errors.add(error)
            self.failed += 1
            self._on_failure()

    def update(self) -> None:
        """Read the summaries that have changed."""
        for job in self.remaining:
            seen = stamp(job.folder)
            if seen and seen != self._seen[job.folder]:
                self._seen[job.folder] = seen
                self._read(job)

    def record_interrupted(self) -> None:
        """Record jobs that have started and not ended as interrupted."""
        self.update()
        for job in self.running:
            if job.folder not in self.elsewhere:
                self.record(job, JobOutcome(Status.INTERRUPTED))

    def text(self) -> str:
        """Return the number of running and failed jobs and the time left, as a phrase."""
        parts = [f"{len(self.running)} running"]
        if self.failed:
            parts.append(f"{self.failed} failed")
        seconds = self.seconds_left()
        if seconds is not None:
            parts.append(f"{timedelta(seconds=round(seconds))} left")
        return ", ".join(parts)

    def seconds_left(self) -> float | None:
        """Return the seconds that the remaining jobs take at the pace so far, None at the start.

        A running job counts by the share of epochs that it has trained in this sweep.
        """
        with self._guard:
            outcomes = dict(self.outcomes)
        ended = [at for at, outcome in outcomes.items() if outcome.status is not Status.SKIPPED]
        shares = {job.folder: trained_share(job) for job in self.running}
        done = sum(1 - self._begun.get(folder, 0.0) for folder in ended)
        done += sum(share - self._begun.get(folder, 0.0) for folder, share in shares.items())
        left = self.total - len(outcomes) - sum(shares.values())
        if done <= 0 or left <= 0:
            return None
        return (time.monotonic() - self._start) / done * left

    def _read(self, job: PlannedJob) -> None:
        try:
            summary = read_summary(job.folder)
        except UnreadableRunError:
            return
        with self._guard:
            if job.folder in self.outcomes:
                return
            if summary.status in (Status.RUNNING, Status.INTERRUPTED):
                self._running[job.folder] = job
                self._begun.setdefault(job.folder, trained_share(job))
            elif summary.status is Status.FINISHED:
                elsewhere = job.folder in self.elsewhere
                self.record(job, JobOutcome(Status.SKIPPED if elsewhere else Status.FINISHED))
            elif summary.status is Status.FAILED:
                self.record(job, JobOutcome(Status.FAILED, summary.error))


def trained_share(job: PlannedJob) -> float:
    """Return the share of its epochs or updates that a job has trained, 0 if unknown."""
    row, limits = files.last_metrics(job.folder), job.settings["train"]
    shares = [
        float(row[name]) / limits[most]
        for name, most in (("epoch", "max_epochs"), ("step", "max_steps"))
        if row.get(name, "").isdigit() and limits.get(most)
    ]
    return min(1.0, max(shares, default=0.0))


@contextmanager
def displayed(progress: SweepProgress) -> Iterator[None]:
    """Display the progress of a sweep during the block."""
    stopped = threading.Event()
    thread = threading.Thread(target=_follow, args=(progress, stopped), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def _follow(progress: SweepProgress, stopped: threading.Event) -> None:
    """Show bars on a terminal, and elsewhere a line at intervals, which suits a log file."""
    display = Live(console=console.screen.out, transient=True, refresh_per_second=4)
    begin = last = time.monotonic()
    pause = INTERVAL
    try:
        while not stopped.wait(pause):
            now = time.monotonic()
            progress.update()
            if console.screen.out.is_terminal:
                display.update(_bars(progress))
                if now - begin > console.PATIENCE:
                    display.start()
            elif now - last >= console.LINE_EVERY:
                last = now
                done = f"{len(progress.outcomes)} of {progress.total} jobs"
                with suppress(OSError):  # a full disk ends the sweep where the main thread prints
                    console.print_line(f"sweep: {done}, {progress.text()}")
            pause = max(INTERVAL, 10 * (time.monotonic() - now))
    finally:
        display.stop()


def _bars(progress: SweepProgress) -> Table:
    bars = Table.grid(padding=(0, 1))
    rows = [("sweep", len(progress.outcomes), progress.total, progress.text())]
    for job in progress.running[:BARS]:
        row = files.last_metrics(job.folder)
        epoch = int(row["epoch"]) if row.get("epoch", "").isdigit() else 0
        loss = f"loss {float(row['loss']):.4g}" if row.get("loss") else ""
        rows.append((job.label, epoch, job.settings["train"].get("max_epochs"), loss))
    for name, done, total, details in rows:
        bars.add_row(
            escape(name), ProgressBar(total, done, width=40), f"{done}/{total or '?'}", details
        )
    return bars
