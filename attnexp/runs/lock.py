"""One process at a time in a run's folder.

The lock is the kernel's (flock) on a file in the folder, so it is free the moment its holder is
dead, however it died. The file stays: removing it would let two processes lock two files of one
name. On a network file system it holds between machines where that file system passes flock on:
NFS does since Linux 2.6.12, Lustre when mounted with `flock`. Where there are no locks at all, a
run goes on without one and says so.
"""

import errno
import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from attnexp import console

LOCK = ".lock"

RETRY = 0.5
"""Seconds between two looks at a lock that another process holds."""

_PATIENCE = 2.0
"""Seconds to wait for processes that only look, as `is_held` does. Then the lock counts as held."""

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class BusyError(Exception):
    """Another process is at work in the folder. The text says which."""


@contextmanager
def hold(folder: Path, tell: Callable[[str], None] | None = None) -> Iterator[None]:
    """Make the folder and keep every other process out of it for the length of the block.

    Where another process is at work there, wait until it has gone, having called `tell` with who it
    is. Raises BusyError at once without `tell`, and OSError where nothing can be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        if not _taken(file):
            holder = _holder(file)
            if tell is None:
                raise BusyError(holder)
            tell(holder)
            while not _taken(file):
                time.sleep(RETRY)
        _sign(file)
        yield
    finally:
        os.close(file)


def is_held(folder: Path) -> bool:
    """Whether some process is at work in the folder at this moment."""
    try:
        file = os.open(folder / LOCK, os.O_RDWR)
    except OSError:
        return False
    try:
        return not _locked(file, fcntl.LOCK_SH)
    finally:
        os.close(file)


def _taken(file: int) -> bool:
    """Take the lock. Where a shared one can be had, nobody is at work: others only look."""
    end = time.monotonic() + _PATIENCE
    while not _locked(file, fcntl.LOCK_EX):
        if not _locked(file, fcntl.LOCK_SH) or time.monotonic() > end:
            return False
        fcntl.flock(file, fcntl.LOCK_UN)
        time.sleep(0.001)
    return True


def _locked(file: int, how: int) -> bool:
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        console.warn(
            "this file system has no locks: two commands at once may run the same job twice"
        )
    return True


def _sign(file: int) -> None:
    """Write who holds the lock, for people to read."""
    content = json.dumps({"process": os.getpid(), "host": socket.gethostname()}).encode()
    with suppress(OSError):  # a full disk must not look like a lock that was not given
        os.pwrite(file, content, 0)
        os.ftruncate(file, len(content))


def _holder(file: int) -> str:
    try:
        holder = json.loads(os.pread(file, 1000, 0))
        return f"process {holder['process']} on {holder['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
