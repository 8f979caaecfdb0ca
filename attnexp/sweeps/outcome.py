"""The outcome of a job in a sweep, and the state of its folder."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from attnexp.errors import RequestError
from attnexp.runs import files, lock
from attnexp.runs.key import RESULTS_VERSION, identity, run_key

State = Literal[
    "new", "finished", "failed", "interrupted", "running", "died", "stale", "unreadable"
]
"""What a folder holds: nothing yet; a run that has ended so; one that a process is at work on; one
whose process is gone; numbers of another results version; a summary that cannot be read."""

Status = Literal["done", "skipped", "failed", "interrupted", "busy", "not run"]
"""The ways in which a job ends in a sweep. "busy" means that another process runs it."""

Stamp = tuple[int, int] | None
"""Changes whenever a summary is written."""


@dataclass(frozen=True)
class Outcome:
    """How a job ended in a sweep, with the error of a job that failed."""

    status: Status
    error: str | None = None


@dataclass(frozen=True)
class Found:
    """What the folder of a job holds."""

    state: State
    error: str | None = None


class StrangerError(RequestError):
    """The folder of a job holds a run with another configuration."""


def stamp(folder: Path) -> Stamp:
    """The stamp of the summary in a folder, or None where there is none."""
    try:
        status = os.stat(folder / files.SUMMARY)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def look(folder: Path, key: str, config: Mapping[str, Any]) -> Found:
    """What the folder holds of the run with this key and resolved configuration.

    Raises StrangerError for the run of another configuration: it is neither reused nor overwritten.
    """
    if stamp(folder) is None:
        return Found("new")
    try:
        summary = files.read_summary(folder)
    except files.UnreadableRunError as error:
        return Found("unreadable", str(error))
    stored, asked = files.finite(identity(summary["config"])), files.finite(identity(config))
    if stored != asked:
        raise StrangerError(
            f"{folder} holds a run with another configuration ({_difference(stored, asked)}): "
            "move it away, or overwrite it with rerun=true"
        )
    if summary.get("key") != key:
        return Found("stale")
    status = summary.get("status")
    if status == files.RUNNING:
        return Found("running" if lock.is_held(folder) else "died")
    if status in (files.FINISHED, files.FAILED, files.INTERRUPTED):
        return Found(status, summary.get("error"))
    return Found("unreadable", f"{folder / files.SUMMARY} has the status {status!r}")


def old_folders(folder: Path, config: Mapping[str, Any]) -> list[Path]:
    """The folders that hold results of older versions for the same configuration."""
    key = run_key(config)
    olds = [run_key(config, version) for version in range(1, RESULTS_VERSION)]
    named = [folder.with_name(folder.name.replace(key, old)) for old in olds if key in folder.name]
    return [old for old in named if old.is_dir()]


def _difference(stored: Mapping[str, Any], asked: Mapping[str, Any]) -> str:
    """The first setting in which two configurations differ."""
    old, new = flat(stored), flat(asked)
    name = next(name for name in [*new, *old] if old.get(name, old) != new.get(name, new))
    there = repr(old[name]) if name in old else "not set"
    here = repr(new[name]) if name in new else "not set"
    return f"{name} is {there} there, and {here} here"


def flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by their dotted paths."""
    settings: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, Mapping) and value:
            settings |= flat(value, f"{prefix}{name}.")
        else:
            settings[f"{prefix}{name}"] = value
    return settings


def first_line(error: str | None) -> str:
    """Return the first line of an error."""
    return (error or "no reason is known").strip().partition("\n")[0]
