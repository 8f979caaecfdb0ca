"""The summary of a run as it opens and as it closes. Needs no torch."""

import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Any

from attnexp import __version__
from attnexp.errors import RequestError
from attnexp.runs import files
from attnexp.runs.key import RESULTS_VERSION, run_key


def opened(config: Mapping[str, Any], chosen: Mapping[str, str]) -> dict[str, Any]:
    """What is known of a run before anything of it is built.

    `config` is the resolved configuration, `chosen` the name of the choice in each group.
    """
    return {
        "schema": files.SCHEMA,
        "status": files.RUNNING,
        "key": run_key(config),
        "results_version": RESULTS_VERSION,
        "choices": dict(chosen),
        "config": dict(config),
        "metrics": {},
        "primary": None,
        "selection": None,
        "better": {},
        "notes": [],
        "parameters": None,
        "seconds": None,
        "peak_memory_mb": None,
        "device": None,
        "versions": versions(),
        "git": git_state(),
        "started": now(),
        "ended": None,
        "error": None,
    }


def ended_early(
    summary: Mapping[str, Any], status: str, error: str, seconds: float | None = None
) -> dict[str, Any]:
    """The summary of a run that failed or was interrupted."""
    return {**summary, "status": status, "error": error, "seconds": seconds, "ended": now()}


def error_text(error: BaseException) -> str:
    """An error in a line: its type and what it says. What a user can mend is a sentence already."""
    if isinstance(error, RequestError):
        return str(error)
    return f"{type(error).__name__}: {error}".rstrip(": ")


def now() -> str:
    """The time in UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@cache
def versions() -> dict[str, str]:
    """The versions of what computes."""
    return {
        "attnexp": __version__,
        "torch": version("torch"),
        "python": platform.python_version(),
    }


@cache
def git_state() -> dict[str, Any] | None:
    """Commit and dirtiness of the working directory, or None where there is no git.

    Asked once a process: edits made later do not reach code that is already imported.
    """
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return None
    return {"commit": commit, "dirty": bool(_git("status", "--porcelain", "-uno"))}


def _git(*arguments: str) -> str | None:
    try:
        answer = subprocess.run(
            ("git", *arguments), capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()
