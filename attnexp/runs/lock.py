"""The lock of a run folder, which one process at a time holds.

The lease decides: the file `.lease`, which `filelock.SoftFileLease` creates, renews every BEAT
seconds and removes at the end. It needs nothing of a file system but that a file is created once,
so it also keeps machines apart that do not see each other's locks. A lease has expired after EXPIRY
seconds without a renewal, measured by the clock of the process that waits for it. If the owner is
on the same machine and its process is gone, nobody waits.

filelock takes a dead process for alive until its parent has collected it, which in a container
without an init process is never. The file `.lock` therefore is locked by the kernel, which releases
it at the death of the holder: it names the boot of the machine and the lease of the last holder,
and whoever gets the lock on the same machine knows that this lease is over. If names cannot be
exchanged, as on NFS, filelock takes no lease over: it is removed here, after EXPIRY + BEAT seconds.

A process that was stopped for longer than EXPIRY may wake up without its lease. `confirm` looks
before each file is written and raises TakenOverError. A gap of microseconds remains between
that look and the renaming that follows. A lease that was removed while its owner renewed it, as by
a program that synchronises folders, was not taken over: the owner takes it again.
"""

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from threading import get_ident
from uuid import getnode

from attnexp.core.errors import RunFailedError
from attnexp.runs.files import UnreadableRunError, is_special, read_bytes, require_own, stamp

LOCK, LEASE = ".lock", ".lease"

CONTENT = {
    LOCK: re.compile(rb"([0-9a-f-]+ [0-9a-f]+)?"),
    LEASE: re.compile(rb"(filelock/2\n.*)?", re.DOTALL),
}
"""The content of the two files. They are empty between their creation and their first byte."""

BEAT = 5.0
"""Seconds between two renewals of a lease."""

EXPIRY = 60.0
"""Seconds without a renewal after which a lease has expired."""

RETRY = 0.5
"""Seconds between two attempts to take a lock that another process holds."""

PATIENCE = (0.0, 0.01, 0.02, 0.04, 0.08)
"""Seconds before each attempt to take a lock, after which another process counts as its holder.

A look by `is_held` takes the lock for a moment.
"""


class BusyError(Exception):
    """Another process holds the lock. The message names that process."""


class TakenOverError(RunFailedError):
    """Another process has taken over a folder that this one held, so this one writes no more."""


@contextmanager
def hold(folder: Path, on_busy: Callable[[str], None] | None = None) -> Iterator[None]:
    """Create the folder and hold its lock during the block.

    If another process holds the lock, call `on_busy` with the name of that process and wait.

    Raises BusyError if another process holds the lock and there is no `on_busy`, and OSError if the
    folder cannot be written or holds a symbolic link.
    """
    folder.mkdir(parents=True, exist_ok=True)
    require_own(folder)
    claim = _Claim(folder)
    if not any(claim.take(after) for after in PATIENCE):
        if on_busy is None:
            raise BusyError(holder(folder))
        on_busy(holder(folder))
        while not claim.take(RETRY):
            pass
    _HELD[folder] = claim
    try:
        yield
    finally:
        del _HELD[folder]
        claim.release()


def is_held(folder: Path) -> bool:
    """Return whether a process holds the lock at this moment.

    A lease that is over is removed. If the folder cannot be written, a lease counts as held.
    """
    if not os.path.lexists(f"{folder}/{LEASE}"):
        return False
    claim = _watched(folder, get_ident())
    try:
        taken = claim.take()
    except OSError:
        return True
    if taken:
        claim.release()
    return not taken


def holder(folder: Path) -> str:
    """Return the name of the process that holds the lock, as `process 4711 on HOST`."""
    return _Claim(folder).owner


def foreign(folder: Path) -> str | None:
    """Return the name of a file in the place of the lock or lease that attnexp never wrote.

    None if there is no such file. `hold` would overwrite or remove it.
    """
    for name, content in CONTENT.items():
        try:
            if content.fullmatch(read_bytes(folder / name)) is None:
                return name
        except FileNotFoundError:
            continue
        except UnreadableRunError:
            return name
    return None


def confirm(folder: Path) -> None:
    """Raise TakenOverError if this process held a folder and has lost it to another.

    A lease that was only removed is taken again.
    """
    claim = _HELD.get(folder)
    if claim is not None and not claim.keep():
        raise TakenOverError(
            f"{claim.owner} has taken over {folder}, because this process gave no sign of life for "
            f"{EXPIRY:.0f} seconds: nothing more is written"
            if os.path.lexists(folder / LEASE)
            else f"the lease of {folder} was removed: nothing more is written"
        )


class _Claim:
    """The lock and the lease of a folder, as one process takes them."""

    def __init__(self, folder: Path) -> None:
        from filelock import FileLock, SoftFileLease  # tables of finished runs do without it

        self._folder = folder
        self._lock = FileLock(folder / LOCK, preserve_lock_file=True, thread_local=False)
        self._lease = SoftFileLease(
            folder / LEASE,
            lease_duration=EXPIRY,
            heartbeat_interval=BEAT,
            thread_local=False,
        )
        self._file = -1
        self._seen: tuple[tuple[int, ...], float] = (), 0.0

    @property
    def owner(self) -> str:
        owner = self._lease.owner
        if owner is None:
            return "another process"
        return f"process {owner.pid} on {owner.hostname.partition('?')[0]}"

    def take(self, after: float = 0.0) -> bool:
        """Take the lease, and the kernel's lock if there is one; return whether that succeeded.

        `after` is a pause before the attempt, in seconds.
        """
        from filelock import LeaseSettingsMismatch, Timeout

        time.sleep(after)
        if not is_special(self._folder / LOCK):
            with suppress(OSError):  # busy, or a file system without locks
                self._lock.acquire(blocking=False)
        try:
            if self._lock.is_locked and self._holder_has_died():
                self._lease.force_break()
            self._lease.acquire(blocking=False)
            self._file = os.open(self._folder / LEASE, os.O_RDONLY)
            if self._lock.is_locked:
                with suppress(OSError):
                    (self._folder / LOCK).write_text(f"{boot()} {self._lease.token}")
        except (Timeout, LeaseSettingsMismatch):
            self._break_expired()
            self.release()
            return False
        except BaseException:
            self.release()
            raise
        return True

    def release(self) -> None:
        """Give back the lock and the lease, if they were taken."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)
        with suppress(OSError):  # what remains is the lease of a dead process
            self._lease.release()
        self._lock.release()

    def keep(self) -> bool:
        """Return whether this process holds the lease still, or has taken a removed lease again."""
        own = self._is_own() or self._is_own(after=0.05)  # a look of others may move it aside
        if own and self._lease.compromise is None:
            return True
        try:
            if not own and not self._was_removed():
                return False
            self.release()
            return self.take()
        except OSError:
            return False

    def _was_removed(self) -> bool:
        """Return whether only the lease file was removed, before the lease had expired."""
        file = os.fstat(self._file)
        in_time = file.st_ctime - file.st_mtime < EXPIRY / 2
        return in_time and not file.st_nlink and os.path.isdir(self._folder)

    def _break_expired(self) -> None:
        """Remove a lease that has expired and that filelock does not take over.

        filelock takes over no lease on a file system that cannot exchange two names, and none
        without content, whose owner was killed between the creation of the file and its first byte.
        """
        seen = stamp(self._folder / LEASE)
        if seen != self._seen[0]:
            self._seen = seen, time.monotonic()
        elif seen and time.monotonic() - self._seen[1] > EXPIRY + BEAT:
            with suppress(OSError):
                self._lease.force_break()

    def _is_own(self, after: float = 0.0) -> bool:
        time.sleep(after)
        owner = self._lease.owner
        return owner is not None and owner.token == self._lease.token

    def _holder_has_died(self) -> bool:
        """Return whether the lease is of a dead process of this machine.

        The file of the kernel's lock then names the lease, and this process holds the kernel's
        lock.
        """
        owner = self._lease.owner
        if owner is None:
            return False
        last, path = f"{boot()} {owner.token}".encode(), self._folder / LOCK
        try:
            return path.stat().st_size == len(last) and read_bytes(path) == last
        except (OSError, UnreadableRunError):
            return False


_HELD: dict[Path, _Claim] = {}


@cache
def _watched(folder: Path, _thread: int) -> _Claim:
    """Return the claim with which a thread looks at a folder, the same one at each look.

    The claim remembers the lease that it saw at earlier looks, and so notices one that expires.
    """
    return _Claim(folder)


@cache
def boot() -> str:
    """Return the boot id of this machine."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"{getnode():x}"  # the address of its network card, on systems without /proc
