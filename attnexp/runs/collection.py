"""Finds run folders and reads their summaries.

What cannot be read is set aside with the reason; one bad folder never spoils a table. Needs neither
pandas nor torch.
"""

import gc
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from attnexp.errors import RequestError
from attnexp.runs import files
from attnexp.runs.run import Run
from attnexp.runs.settings import clean
from attnexp.runs.summary import OpenSummary, open_summary

BEGUN = (".hydra", "attnexp.log")
"""What a run folder holds before its summary is written."""

AHEAD = 64
"""The number of summaries that the system reads ahead from the disk."""


@dataclass
class Collected:
    """The runs below some folders, in order of path, and why other folders were set aside."""

    runs: list[Run] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def collect(roots: Iterable[str | Path]) -> Collected:
    """Read every run at or below the folders; a run that is found twice counts once.

    Raises RequestError for a path that is not a folder.
    """
    collected = Collected()
    with without_garbage_collection():
        met: set[tuple[int, int]] = set()
        for root in roots:
            _collect_below(os.fspath(Path(root)), collected, met)
    return collected


def _collect_below(root: str, collected: Collected, met: set[tuple[int, int]]) -> None:
    if not os.path.isdir(root):
        there = "is not a folder" if os.path.exists(root) else "is not there"
        raise RequestError(f"{root} {there}: give the folder of a run, or one that holds runs")
    found = find(root, collected.skipped)
    while ahead := list(islice(found, AHEAD)):
        for summary in ahead:
            identity = (summary.state.st_dev, summary.state.st_ino)
            if identity in met:
                summary.close()
                continue
            met.add(identity)
            try:
                collected.runs.append(Run(summary.folder, summary.read()))
            except files.UnreadableRunError as error:
                collected.skipped.append(clean(str(error)))


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Pause garbage collection, which takes a fifth of the time of reading thousands of runs."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def find(root: str, skipped: list[str]) -> Iterator[OpenSummary]:
    """Yield the summaries at or below `root`, opened, in order of path.

    Hidden folders and links are not followed, and nothing is sought inside a run. A folder that
    cannot be opened, or that a run has begun in without a summary, adds a sentence to `skipped`.
    """
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        try:
            summary = open_summary(folder)
        except files.UnreadableRunError as error:
            skipped.append(clean(str(error)))
            continue
        if summary is not None:
            yield summary
            continue
        try:
            with os.scandir(folder) as entries:
                inside = sorted(entries, key=lambda entry: entry.name, reverse=True)
        except OSError as error:
            skipped.append(clean(f"{folder} cannot be opened: {error.strerror}"))
            continue
        if any(entry.name in BEGUN for entry in inside):
            skipped.append(clean(f"{folder} holds no {files.SUMMARY} yet, or never will"))
            continue
        waiting += [
            entry.path
            for entry in inside
            if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
        ]
