"""What a run folder holds of a run: the one answer to whether it has finished."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from attnexp import console
from attnexp.errors import RequestError
from attnexp.redaction import recorded
from attnexp.runs import lock
from attnexp.runs.files import SUMMARY, UnreadableRunError, finite
from attnexp.runs.key import RESULTS_VERSION, identity, run_key, run_keys
from attnexp.runs.settings import leaves
from attnexp.runs.summary import Status, Summary, read_summary

RunState = Literal["running", "finished", "failed", "interrupted", "died"]
"""How far a run is. One that recorded no end, and whose folder no process has locked, died."""

FolderState = Literal[
    "new", "finished", "failed", "interrupted", "running", "died", "stale", "unreadable"
]
"""What a folder holds of a wanted run: nothing yet; the run in one of its states; numbers of
another results version; a summary that cannot be read."""

STATES: Mapping[FolderState, str] = {
    "finished": "done",
    "new": "to do",
    "failed": "failed, to do again",
    "interrupted": "interrupted, to do again",
    "running": "running in another process",
    "died": "its process is gone, to do again",
    "stale": "done by an older version, to do again",
    "unreadable": "cannot be read, to do again",
}
"""The states in words, in the order in which they are listed."""

Stamp = tuple[int, int] | None
"""A value that changes whenever a summary is written."""


@dataclass(frozen=True)
class Found:
    """What a folder holds of a wanted run. `summary` is there where it could be read."""

    state: FolderState
    error: str | None = None
    summary: Summary | None = None


class OtherRunError(RequestError):
    """The folder holds a run with another configuration."""


def state_of(folder: Path | str, status: Status) -> RunState:
    """Return how far the run in a folder is, given the status that it has recorded."""
    if status != "running" or lock.is_held(Path(folder)):
        return status
    return "died"


def look(folder: Path, config: Mapping[str, Any]) -> Found:
    """Return what a folder holds of the run with this resolved configuration.

    Raises OtherRunError for the run of another configuration: it is neither reused nor overwritten.
    """
    if stamp(folder) is None:
        return Found("new")
    try:
        summary = read_summary(folder)
    except UnreadableRunError as error:
        return Found("unreadable", str(error))
    stored, asked = finite(identity(summary.config)), finite(identity(config))
    if stored != asked and stored != (asked := finite(identity(recorded(config)))):
        raise OtherRunError(
            f"{folder} holds a run with another configuration ({_difference(stored, asked)}): "
            "move it away, or overwrite it with rerun=true"
        )
    if summary.key != run_key(config):
        if summary.results_version == RESULTS_VERSION and recorded(config) != config:
            raise OtherRunError(
                f"{folder} holds a run with another value of a secret or of an environment "
                "variable: move it away, or overwrite it with rerun=true"
            )
        return Found("stale", summary=summary)
    return Found(state_of(folder, summary.status), summary.error, summary)


def stamp(folder: Path) -> Stamp:
    """Return the stamp of the summary in a folder, or None where there is none."""
    try:
        status = os.stat(folder / SUMMARY)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def old_folders(folder: Path, config: Mapping[str, Any]) -> list[Path]:
    """Return the folders that hold results of older versions for the same configuration."""
    key, *olds = run_keys(config, [RESULTS_VERSION, *range(1, RESULTS_VERSION)])
    named = [folder.with_name(folder.name.replace(key, old)) for old in olds if key in folder.name]
    return [old for old in named if os.path.isdir(old)]


def warn_of_old(folders: Sequence[Path]) -> None:
    """Say that there are results which an older version of attnexp has computed."""
    if folders:
        more = f" and {len(folders) - 1} more" if len(folders) > 1 else ""
        console.warn(
            f"{console.near(folders[0])}{more} hold numbers of an older version of attnexp: they "
            "are kept, do not count, and are computed anew"
        )


def _difference(stored: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """Return the first setting in which two configurations differ."""
    old, new = dict(leaves(stored)), dict(leaves(asked))
    name = next(name for name in [*new, *old] if old.get(name, old) != new.get(name, new))
    there = repr(old[name]) if name in old else "not set"
    here = repr(new[name]) if name in new else "not set"
    return f"{name} is {there} there, and {here} here"
