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

from attnexp import __version__
from attnexp.runs import files
from attnexp.runs.key import NEUTRAL

NAME = ".attnexp-results"

VERSION = 1
"""Of what is kept. Raise it when runs are read differently."""

WORTH = 100
"""Runs that must have been read anew before the cache is written."""

SETTLED = 2_000_000_000
"""Nanoseconds since the last change of a summary before it is kept.

A file system's clock may tick so slowly that a second change leaves the same time behind.
"""

Kept = tuple[list[Any], list[dict[str, Any]]]
"""Of a run: what is its own, and mappings that many runs share; all of it plain JSON."""

Entries = dict[str, tuple[list[int], Kept]]
"""By the path of a run below the folder: the state of its summary, and what was read."""


class Cache:
    """What is known of the runs below one folder."""

    def __init__(self, root: str) -> None:
        self._path = Path(root, NAME)
        self._known = _load(self._path)
        self._kept: Entries = {}
        self._root = root
        self._new = 0

    def look_up(self, folder: str, state: os.stat_result) -> Kept | None:
        """What was kept of a run, if its summary has not changed since."""
        inside = self._inside(folder)
        entry = self._known.get(inside)
        if entry is None or entry[0] != _stamp(state):
            return None
        self._kept[inside] = entry
        return entry[1]

    def keep(self, folder: str, state: os.stat_result, kept: Kept) -> None:
        """Remember a run, unless its summary has only just changed."""
        if time.time_ns() - max(state.st_mtime_ns, state.st_ctime_ns) > SETTLED:
            self._kept[self._inside(folder)] = (_stamp(state), kept)
            self._new += 1

    def save(self) -> None:
        """Write what is kept, if enough of it is new, and drop the rest.

        A mapping that several runs have is written once, and its number stands in each of them.
        """
        if self._new < WORTH:
            return
        places: dict[tuple[Any, ...], int] = {}
        shared: list[dict[str, Any]] = []
        runs = []
        for inside, (stamp, (own, mappings)) in self._kept.items():
            numbers = []
            for mapping in mappings:
                same = (*mapping.items(), *map(type, mapping.values()))
                if same not in places:
                    places[same] = len(shared)
                    shared.append(mapping)
                numbers.append(places[same])
            runs.append([inside, stamp, own, numbers])
        body = json.dumps([shared, runs], separators=(",", ":")).encode()
        with contextlib.suppress(OSError):
            files.write_bytes(self._path, f"{_heading(body)}\n".encode() + body)

    def _inside(self, folder: str) -> str:
        return os.fsencode(folder[len(self._root) :]).decode("latin-1")


def _load(path: Path) -> Entries:
    try:
        heading, _, body = path.read_bytes().partition(b"\n")
    except OSError:
        return {}
    if heading != _heading(body).encode():
        return {}
    shared, runs = json.loads(body)
    return {
        inside: (stamp, (own, [shared[number] for number in numbers]))
        for inside, stamp, own, numbers in runs
    }


def _heading(body: bytes) -> str:
    """Names the version, and vouches for the body and for what was left out of it."""
    digest = hashlib.blake2b(repr(sorted(NEUTRAL)).encode(), digest_size=16)
    digest.update(body)
    return f"attnexp {__version__} results cache {VERSION} {digest.hexdigest()}"


def _stamp(state: os.stat_result) -> list[int]:
    return [state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino]
