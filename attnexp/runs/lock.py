"""The lock of a run folder, which one process at a time holds.

It is the kernel's lock (flock) on a file in the folder, so it is released when its holder dies,
however it dies. The file stays, because two processes could otherwise lock two files of the same
name. On a network file system the lock holds between machines if that file system supports flock:
NFS does since Linux 2.6.12, Lustre when mounted with `flock`. Where a file system has no locks, the
run continues without one after a warning.
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
"""Seconds between two attempts to take a lock that another process holds."""

_PATIENCE = 2.0
"""Seconds to wait while other processes only test the lock with `is_held`."""

CAREFUL = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Flags for the file of a lock: it may be in a folder that somebody else has made."""

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class BusyError(Exception):
    """Another process holds the lock. The message names that process."""


@contextmanager
def hold(folder: Path, on_busy: Callable[[str], None] | None = None) -> Iterator[None]:
    """Create the folder and hold its lock during the block.

    Where another process holds it, call `on_busy` with the name of that process and wait. Raises
    BusyError instead if there is no `on_busy`, and OSError where the file cannot be written or the
    folder holds a symbolic link.
    """
    folder.mkdir(parents=True, exist_ok=True)
    require_own(folder)
    file = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | CAREFUL, 0o666)
    try:
        if not _taken(file):
            holder = _holder(file)
            if on_busy is None:
                raise BusyError(holder)
            on_busy(holder)
            while not _taken(file):
                time.sleep(RETRY)
        _sign(file)
        yield
    finally:
        os.close(file)


def require_own(folder: Path) -> None:
    """Raise OSError where a folder that is to be written in holds a symbolic link.

    The folder may be somebody else's, and what is written there would go elsewhere. The folder
    itself may be reached through links.
    """
    try:
        with os.scandir(folder) as entries:
            links = sorted(entry.name for entry in entries if entry.is_symlink())
    except FileNotFoundError:
        return
    if links:
        why = f"{links[0]} in it is a symbolic link, which is not followed: remove it"
        raise OSError(errno.ELOOP, why, str(folder))


def is_held(folder: Path) -> bool:
    """Return whether a process holds the lock at this moment. The lock is not taken for that."""
    try:
        file = os.open(folder / LOCK, os.O_RDWR | CAREFUL)
    except OSError:
        return False
    try:
        return not _locked(file, fcntl.LOCK_SH)
    finally:
        os.close(file)


def _taken(file: int) -> bool:
    """Take the lock and return whether that succeeded.

    Where a shared lock can be had, nobody holds the folder: others only call `is_held`.
    """
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
    """Write the name of this process into the file, for messages."""
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
