"""Remembers what was read of run folders, so that thousands of them open quickly.

The cache is one file in the folder that is searched. It only saves reading: a run is taken from it
as long as its summary is the very file that was read. It may be deleted at any time. A cache that
is damaged, from another version, or in a folder that cannot be written is as good as none.
"""

import contextlib
import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

from attnexp import __version__, record
from attnexp.key import NEUTRAL

NAME = ".attnexp-results"

VERSION = 1
"""Of what is kept. Raise it when runs are read differently."""

WORTH = 100
"""Runs that must have been read anew before the cache is written."""

SETTLED = 2_000_000_000
"""Nanoseconds since the last change of a summary before it is kept.

A file system's clock may tick so slowly that a second change leaves the same time behind.
"""

Entries = dict[str, list[Any]]
"""By the path of a run below the folder: the state of its summary, and what was read."""


class Cache:
    """What is known of the runs below one folder."""

    def __init__(self, root: str) -> None:
        self._path = Path(root, NAME)
        self._known = _load(self._path)
        self._kept: Entries = {}
        self._root = root
        self._new = 0

    def look_up(self, folder: str, state: os.stat_result) -> list[Any] | None:
        """What was kept of a run, if its summary has not changed since."""
        inside = self._inside(folder)
        entry = self._known.get(inside)
        if entry is None or entry[0] != _stamp(state):
            return None
        self._kept[inside] = entry
        return entry[1]

    def keep(self, folder: str, state: os.stat_result, content: list[Any]) -> None:
        """Remember a run, unless its summary has only just changed."""
        if time.time_ns() - max(state.st_mtime_ns, state.st_ctime_ns) > SETTLED:
            self._kept[self._inside(folder)] = [_stamp(state), content]
            self._new += 1

    def save(self) -> None:
        """Write what is kept, if enough of it is new, and drop the rest.

        Runs share most of their settings. A mapping that several have is written once, and a list
        of one number stands where it is to be found.
        """
        if self._new < WORTH:
            return
        places: dict[tuple[Any, ...], int] = {}
        shared: list[dict[str, Any]] = []

        def place(part: Any) -> Any:
            if not isinstance(part, dict):
                return part
            key = (*part.items(), *map(type, part.values()))
            if key not in places:
                places[key] = len(shared)
                shared.append(part)
            return [places[key]]

        runs = {
            inside: [stamp, [place(part) for part in content]]
            for inside, (stamp, content) in self._kept.items()
        }
        text = json.dumps({"shared": shared, "runs": runs}, separators=(",", ":"))
        body = text.encode()
        with contextlib.suppress(OSError):
            record.write_bytes(self._path, f"{_heading(body)}\n".encode() + body)

    def _inside(self, folder: str) -> str:
        return os.fsencode(folder[len(self._root) :]).decode("latin-1")


def _load(path: Path) -> Entries:
    try:
        heading, _, body = path.read_bytes().partition(b"\n")
    except OSError:
        return {}
    if heading != _heading(body).encode():
        return {}
    whole = json.loads(body)
    shared = whole["shared"]
    return {
        inside: [stamp, [shared[part[0]] if type(part) is list else part for part in content]]
        for inside, (stamp, content) in whole["runs"].items()
    }


def _heading(body: bytes) -> str:
    """Names the version, and vouches for the body and for what was left out of it."""
    digest = hashlib.blake2b(repr(sorted(NEUTRAL)).encode(), digest_size=16)
    digest.update(body)
    return f"attnexp {__version__} results cache {VERSION} {digest.hexdigest()}"


def _stamp(state: os.stat_result) -> list[int]:
    return [state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino]
