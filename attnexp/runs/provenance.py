"""Where the numbers of a run come from: versions, commit, time."""

import platform
import subprocess
from datetime import UTC, datetime
from functools import cache

import msgspec

from attnexp.version import __version__


class GitState(msgspec.Struct, frozen=True):
    """The commit of a checkout, and whether tracked files differ from it."""

    commit: str
    dirty: bool


def now() -> str:
    """Return the time in UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@cache
def versions() -> dict[str, str]:
    """Return the versions of attnexp, PyTorch and Python."""
    from importlib.metadata import version  # as slow to import as hundreds of runs to read

    return {
        "attnexp": __version__,
        "torch": version("torch"),
        "python": platform.python_version(),
    }


@cache
def git_state() -> GitState | None:
    """Return the state of the working directory's checkout, or None where there is no git.

    Git is asked once a process: edits made later do not reach code that is already imported.
    """
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return None
    return GitState(commit, dirty=bool(_git("status", "--porcelain", "-uno")))


def _git(*arguments: str) -> str | None:
    try:
        answer = subprocess.run(
            ("git", *arguments), capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip()
