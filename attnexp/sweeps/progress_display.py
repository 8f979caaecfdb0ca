"""The progress of a sweep, read from the files of its jobs.

So it is the same whichever process, on whichever machine, runs a job.
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
from attnexp.sweeps.plan import Planned
from attnexp.sweeps.progress import Board

INTERVAL = 0.25
"""Seconds between two looks at the files, or more where looking takes long."""

LINES = 8
"""How many running jobs get a line of their own."""


@contextmanager
def watched(board: Board) -> Iterator[None]:
    """Show the progress of a sweep for the length of the block."""
    stopped = threading.Event()
    show = _bars if console.out.is_terminal else _lines
    watch = threading.Thread(target=show, args=(board, stopped), daemon=True)
    watch.start()
    try:
        yield
    finally:
        stopped.set()
        watch.join()


def _lines(board: Board, stopped: threading.Event) -> None:
    """A line now and then, as a log file needs it."""
    last = time.monotonic()
    for _ in _looks(board, stopped):
        if time.monotonic() - last >= console.LINE_EVERY:
            console.say(f"sweep: {len(board.outcomes)} of {board.total} jobs, {board.line()}")
            last = time.monotonic()


def _bars(board: Board, stopped: threading.Event) -> None:
    """A bar for the sweep and one for each of the first running jobs."""
    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[details]}"),
        console=console.out,
        transient=True,
        refresh_per_second=4,
    )
    whole = bars.add_task("sweep", total=board.total, details="")
    single: dict[Path, TaskID] = {}
    start, started = time.monotonic(), False
    try:
        for _ in _looks(board, stopped):
            if not started and time.monotonic() - start > console.PATIENCE:
                bars.start()
                started = True
            bars.update(whole, completed=len(board.outcomes), details=board.line())
            shown = {job.folder: job for job in board.running[:LINES]}
            for folder in [folder for folder in single if folder not in shown]:
                bars.remove_task(single.pop(folder))
            for folder, job in shown.items():
                if folder not in single:
                    single[folder] = bars.add_task(escape(job.label), total=epochs(job), details="")
                row = files.last_metrics(folder)
                bars.update(
                    single[folder],
                    completed=int(row["epoch"]) if row.get("epoch", "").isdigit() else 0,
                    details=f"loss {float(row['loss']):.4g}" if row.get("loss") else "",
                )
    finally:
        bars.stop()


def epochs(job: Planned) -> int | None:
    """How many epochs a job may take, where that is known."""
    most = job.settings.get("train", {}).get("max_epochs")
    return most if isinstance(most, int) else None


def _looks(board: Board, stopped: threading.Event) -> Iterator[None]:
    pause = INTERVAL
    while not stopped.wait(pause):
        start = time.monotonic()
        board.look()
        yield
        pause = max(INTERVAL, 10 * (time.monotonic() - start))
