"""The lock of a run folder, which one process at a time holds.

It is the kernel's lock (flock) on a file in the folder, and a lease beside it. The kernel releases
its lock when the holder dies, however it dies. The lease keeps machines apart whose file system
has no locks, or locks that other machines do not see: see `attnexp.runs.lease`. The file `.lock`
stays, because two processes could otherwise lock two files of the same name.
"""

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

from attnexp import console
from attnexp.runs import lease

LOCK = ".lock"

RETRY = 0.5
"""Seconds between two attempts to take a lock that another process holds."""

_PATIENCE = 2.0
"""Seconds to wait while other processes only test the lock with `is_held`."""

CAREFUL = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Flags for the file of a lock: it may be in a folder that somebody else has made."""

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
_NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP)


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
        held = _taken(folder, file)
        if held is None:
            holder = str(lease.read(folder) or "another process")
            if on_busy is None:
                raise BusyError(holder)
            on_busy(holder)
            while (held := _taken(folder, file)) is None:
                time.sleep(RETRY)
        with held:
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
    """Return whether a process holds the lock at this moment. The lock is not taken for that.

    A lease that is over is removed, so that all others know at once.
    """
    try:
        file = os.open(folder / LOCK, os.O_RDONLY | CAREFUL)
    except OSError:
        return False
    try:
        free = _locked(file, fcntl.LOCK_SH)
        found = lease.read(folder)
        if found is None:
            return free is False
        if not lease.is_over(folder, found, free):
            return True
        with suppress(OSError):  # in a folder of somebody else
            lease.remove(folder, found.content)
        return False
    finally:
        os.close(file)


def _taken(folder: Path, file: int) -> AbstractContextManager[None] | None:
    """Take the lock and the lease. Return what keeps them, or None where another process does.

    A file server may keep the lock of a machine that is gone: its lease then expires.
    """
    locked = _locked_alone(file)
    found = lease.read(folder)
    if lease.is_over(folder, found, locked) if found else locked is not False:
        try:
            if found:
                lease.remove(folder, found.content)
            own = lease.take(folder, locked is True)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            if locked is None:
                why = "neither locks nor hard links: two commands"
            else:
                why = "no hard links: where its locks are local to a machine, two machines"
            console.warn(f"this file system has {why} at once may run the same job twice")
            return nullcontext()
        if own is not None:
            return own.kept()
    if locked:
        fcntl.flock(file, fcntl.LOCK_UN)
    return None


def _locked_alone(file: int) -> bool | None:
    """Lock the file for this process alone, and return whether that succeeded, as `_locked`.

    Where a shared lock can be had, nobody holds the folder: others only call `is_held`.
    """
    end = time.monotonic() + _PATIENCE
    while (locked := _locked(file, fcntl.LOCK_EX)) is False:
        if not _locked(file, fcntl.LOCK_SH) or time.monotonic() > end:
            return False
        fcntl.flock(file, fcntl.LOCK_UN)
        time.sleep(0.001)
    return locked


def _locked(file: int, how: int) -> bool | None:
    """Lock the file and return whether that succeeded, None where there are no locks."""
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return None
    return True
