"""Where the numbers of a run come from: code, versions, machine, time.

Git and the processor are asked once per process: edits made later do not reach code that is already
imported.
"""

import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import msgspec

from attnexp.version import __version__

PACKAGE = Path(__file__).resolve().parent.parent

MOST_DIFF = 2**20
"""The most bytes of a checkout's differences that a run keeps."""


class GitState(msgspec.Struct, frozen=True):
    """The commit of a checkout, and whether tracked files differ from it.

    `diff` is a hash of the differences, None without any.
    """

    commit: str
    dirty: bool
    diff: str | None = None

    def __str__(self) -> str:
        changes = f" with changes {self.diff}" if self.dirty else ""
        return f"commit {self.commit[:10]}{changes}"


class Checkout(msgspec.Struct, frozen=True):
    """A checkout: its folder, its state, and how its files differ from the commit, as git says."""

    folder: str
    state: GitState
    differences: str


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
def host() -> str | None:
    """Return the name of this machine in its network."""
    return platform.node() or None


@cache
def system() -> str:
    """Return the operating system and the architecture, as in `Linux 6.1 x86_64`."""
    return f"{platform.system()} {platform.release()} {platform.machine()}"


@cache
def processor() -> str | None:
    """Return the model of the processor, if Linux says it."""
    if sys.platform != "linux":
        return None
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            lines = (line.partition(":") for line in file)
            return next((value.strip() for name, _, value in lines if "model name" in name), None)
    except OSError:
        return None


@cache
def code() -> tuple[Checkout | None, Checkout | None]:
    """Return the checkouts of the working directory and of attnexp, None for one that is missing.

    The first one holds a user's own code. Both may be the same checkout.
    """
    return _checkout(Path.cwd()), _checkout(PACKAGE)


def differences() -> str:
    """Return how the code of this process differs from its commits.

    That is the output of `git diff`, which names binary files, and the names of untracked ones. It
    has at most MOST_DIFF bytes, and says where it was cut.
    """
    parts = dict.fromkeys(
        f"# {each.folder}, {each.state}\n{each.differences}"
        for each in code()
        if each is not None and each.differences
    )
    text = "\n".join(parts).encode(errors="replace")
    if len(text) > MOST_DIFF:
        cut = f"\n# cut here: {len(text) - MOST_DIFF:,} of {len(text):,} bytes are left out\n"
        text = text[: MOST_DIFF - len(cut)] + cut.encode()
    return text.decode(errors="ignore")


def _checkout(path: Path) -> Checkout | None:
    """Return the checkout that a path is in, None if there is none or it has no commit.

    An installed package may lie in the checkout of another project, which does not know its files.
    """
    answer = _git(path, ["rev-parse", "--show-toplevel", "HEAD"])
    if answer is None or len(lines := answer.splitlines()) != 2:
        return None
    if path == PACKAGE and not _git(path, ["ls-files", "--", "__init__.py"]):
        return None
    folder, commit = lines
    state = _git(Path(folder), ["status", "--porcelain", "-unormal"]) or ""
    changed = [line for line in state.splitlines() if not line.startswith("?? ")]
    untracked = [line[3:] for line in state.splitlines() if line.startswith("?? ")]
    diff = _git(Path(folder), ["diff", "HEAD", *PLAIN]) or "" if changed else ""
    digest = hashlib.sha256(diff.encode(errors="replace")).hexdigest()[:10] if changed else None
    named = "".join(f"# untracked: {name}\n" for name in untracked)
    return Checkout(folder, GitState(commit, bool(changed), digest), diff + named)


PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv")
"""Options with which git writes its plain diff, whatever a user has configured."""


SAFE = ("--no-optional-locks", "-c", "core.fsmonitor=false")
"""Options with which git writes nothing, and starts no program that a checkout names as monitor."""


def _git(folder: Path, arguments: Sequence[str]) -> str | None:
    try:
        answer = subprocess.run(
            ("git", *SAFE, "-C", os.fspath(folder), *arguments),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout
