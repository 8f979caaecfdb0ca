"""The display of a sweep's progress.

It is read from the folders of the jobs, so that it is the same under every executor.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from attnexp import console
from attnexp.runs import files
from attnexp.sweeps.plan import PlannedJob
from attnexp.sweeps.progress import SweepProgress

INTERVAL = 0.25
"""Seconds between two updates, or more where an update takes long."""

BARS = 8
"""The largest number of running jobs that have bars of their own."""


@contextmanager
def displayed(progress: SweepProgress) -> Iterator[None]:
    """Display the progress of a sweep during the block."""
    stopped = threading.Event()
    display = _show_bars if console.out.is_terminal else _print_lines
    thread = threading.Thread(target=display, args=(progress, stopped), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def _print_lines(progress: SweepProgress, stopped: threading.Event) -> None:
    """Print a line at intervals, which suits a log file."""
    last = time.monotonic()
    for _ in _updates(progress, stopped):
        if time.monotonic() - last >= console.LINE_EVERY:
            done = f"{len(progress.outcomes)} of {progress.total} jobs"
            console.say(f"sweep: {done}, {progress.text()}")
            last = time.monotonic()


def _show_bars(progress: SweepProgress, stopped: threading.Event) -> None:
    """Show a bar for the sweep and one for each of the first running jobs."""
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[details]}"),
        console=console.out,
        transient=True,
        refresh_per_second=4,
    )
    whole = bars.add_task("sweep", total=progress.total, details="")
    single: dict[Path, TaskID] = {}
    begin = time.monotonic()
    try:
        for _ in _updates(progress, stopped):
            if time.monotonic() - begin > console.PATIENCE:
                bars.start()
            bars.update(whole, completed=len(progress.outcomes), details=progress.text())
            shown = {job.folder: job for job in progress.running[:BARS]}
            for folder in single.keys() - shown:
                bars.remove_task(single.pop(folder))
            for folder, job in shown.items():
                if folder not in single:
                    name = escape(job.label)
                    single[folder] = bars.add_task(name, total=max_epochs(job), details="")
                row = files.last_metrics(folder)
                bars.update(
                    single[folder],
                    completed=int(row["epoch"]) if row.get("epoch", "").isdigit() else 0,
                    details=f"loss {float(row['loss']):.4g}" if row.get("loss") else "",
                )
    finally:
        bars.stop()


def max_epochs(job: PlannedJob) -> int | None:
    """Return the largest number of epochs that a job may take, where its configuration has one."""
    epochs = job.settings.get("train", {}).get("max_epochs")
    return epochs if isinstance(epochs, int) else None


def _updates(progress: SweepProgress, stopped: threading.Event) -> Iterator[None]:
    """Yield after each update of the progress."""
    pause = INTERVAL
    while not stopped.wait(pause):
        begin = time.monotonic()
        progress.update()
        yield
        pause = max(INTERVAL, 10 * (time.monotonic() - begin))
