"""The lease of a run folder, for processes that no lock of the kernel keeps apart.

A lock (flock) is unknown to other machines on some file systems, others have none, and a file
server may keep the lock of a machine that has died. A lease is the file `.lease` beside the lock.
It names its owner by a random token, host, boot and process, and is gone when the work has ended.

- Take: the content is written under another name, to which link(2) then gives the name `.lease`.
  That is atomic, on NFS too: one of several who try succeeds, and nobody reads half a lease.
- Beat: every BEAT seconds the owner sets the modification time of the file that it has open, which
  cannot be the lease of somebody else. Then it reads the file of that name: where that is another's
  or none, the lease is lost.
- Expire: whoever wants the folder looks again and again. A lease that has not changed for EXPIRY
  seconds of the looker's own clock has expired. Clocks of two machines are never compared. A pause
  between two looks counts as BEAT at most, because the looker may have been the one who stood
  still, or the file server.
- Die: on one machine nobody has to wait. Where the owner had the lock and the lock is free, it is
  dead, and without locks its process number tells.
- Take over: the lease is renamed to a name that nobody else has, so that one of several who try
  moves it. Where that was not the lease that had expired, it is linked back. Then the folder is
  taken as one without a lease.
- Wake up: an owner that was stopped for longer, and whose folder another has taken, must not write.
  `confirm` looks before each file and raises TakenOverError. What remains are the microseconds
  between that look and the rename that follows it.
"""

import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from uuid import getnode

import msgspec

from attnexp.errors import RunFailedError
from attnexp.runs.files import ASIDE, UnreadableRunError, open_regular, read_open

LEASE = ".lease"

BEAT = 5.0
"""Seconds between two signs of life."""

EXPIRY = 60.0
"""Seconds without a sign of life after which a lease of another machine has expired."""

_MOST = 4096
"""Bytes of a lease that are read; one of ours has a twentieth of that."""


class TakenOverError(RunFailedError):
    """Another process has taken over a folder that this one held, so this one writes no more."""


class Owner(msgspec.Struct, frozen=True):
    """The process that holds a lease. `locked` says that it holds the lock of the folder, too."""

    token: str
    process: int
    host: str
    boot: str
    namespace: str
    locked: bool

    def __str__(self) -> str:
        return f"process {self.process} on {self.host}"


@dataclass(frozen=True)
class Lease:
    """A lease as it lies in a folder. `owner` is None where the file is not one of ours."""

    content: bytes
    stamp: tuple[int, int]
    owner: Owner | None

    def __str__(self) -> str:
        return str(self.owner or "another process")


class OwnLease:
    """A lease that this process has taken."""

    def __init__(self, folder: Path, owner: Owner, content: bytes, file: int) -> None:
        self.folder = folder
        self.lost: str | None = None
        self._owner = owner
        self._content = content
        self._file = file

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Renew the lease during the block, and remove it at the end."""
        _HEART.add(self)
        try:
            yield
        finally:
            _HEART.remove(self)
            os.close(self._file)
            with suppress(OSError):  # what remains is the lease of a dead process
                remove(self.folder, self._content)

    def beat(self) -> None:
        """Give a sign of life, and look whether the lease is still there."""
        with suppress(OSError):  # a file server that does not answer may be back at the next beat
            os.utime(self._file)
        found = read(self.folder)
        if found is None:
            self.lost = f"the lease of {self.folder} was removed"
        elif found.owner is not None and found.owner != self._owner:
            self.lost = (
                f"{found} has taken over {self.folder}, because this process gave no sign of life "
                f"for {EXPIRY:.0f} seconds"
            )


def machine() -> tuple[str, str]:
    """Return the name of this host, and what tells its present boot from all others."""
    return socket.gethostname(), _boot()


def read(folder: Path, name: str = LEASE) -> Lease | None:
    """Return the lease of a folder, None where there is none."""
    path = f"{folder}/{name}"
    if not os.path.lexists(path):
        return None
    try:
        file, state = open_regular(path, _MOST)
        try:
            content = read_open(path, file, _MOST)
        finally:
            os.close(file)
    except FileNotFoundError:
        return None
    except UnreadableRunError:
        return Lease(b"", (0, 0), None)
    try:
        owner = msgspec.json.decode(content, type=Owner)
    except ValueError:
        owner = None
    return Lease(content, (state.st_ino, state.st_mtime_ns), owner)


def is_over(folder: Path, lease: Lease, free: bool | None) -> bool:
    """Return whether the owner of a lease is dead, or its lease has expired.

    Each call is a look, from which the age of the lease follows. `free` says whether the lock of
    the folder is free, None where there are no locks.
    """
    owner = lease.owner
    if owner is not None and (owner.host, owner.boot) == machine():
        if owner.locked and free is not None:
            return free
        if owner.namespace == _namespace() and not _lives(owner.process):
            return True
    return _LOOKS.is_expired(folder, lease)


def take(folder: Path, locked: bool) -> OwnLease | None:
    """Take a folder without a lease, or return None where another process was faster.

    Raises OSError where the file system has no hard links.
    """
    host, boot = machine()
    owner = Owner(secrets.token_hex(8), os.getpid(), host, boot, _namespace(), locked)
    content = msgspec.json.encode(owner)
    aside = folder / _aside()
    try:
        with aside.open("xb") as written:
            written.write(content)
        file = os.open(aside, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.link(aside, folder / LEASE)
        except OSError as error:
            # A file server may carry out a link and lose the answer.
            if os.fstat(file).st_nlink != 2:
                os.close(file)
                if isinstance(error, FileExistsError):
                    return None
                raise
    finally:
        aside.unlink(missing_ok=True)
    return OwnLease(folder, owner, content, file)


def remove(folder: Path, content: bytes) -> None:
    """Remove the lease with this content. That of another process stays.

    Between the look and the renaming another may have come: what was moved is looked at again.
    """
    found = read(folder)
    if found is None or found.content != content:
        return
    path, aside = folder / LEASE, folder / _aside()
    try:
        path.rename(aside)
    except FileNotFoundError:
        return
    moved = read(folder, aside.name)
    if moved is not None and moved.content != content:
        with suppress(FileExistsError):
            os.link(aside, path)
    aside.unlink(missing_ok=True)


def check(folder: Path) -> None:
    """Raise TakenOverError where the last beat has seen that another process has the folder."""
    own = _HEART.leases.get(folder)
    if own is not None and own.lost is not None:
        raise TakenOverError(f"{own.lost}: nothing more is written")


def confirm(folder: Path) -> None:
    """Look, and raise TakenOverError where this process has held the folder and lost it."""
    own = _HEART.leases.get(folder)
    if own is not None:
        own.beat()
        check(folder)


class _Heart:
    """The thread that renews the leases of this process while it has any."""

    def __init__(self) -> None:
        self.leases: dict[Path, OwnLease] = {}
        self._guard = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, lease: OwnLease) -> None:
        with self._guard:
            self.leases[lease.folder] = lease
            if self._thread is None:
                self._stopped = threading.Event()
                self._thread = threading.Thread(
                    target=self._beat, args=(self._stopped,), daemon=True
                )
                self._thread.start()

    def remove(self, lease: OwnLease) -> None:
        with self._guard:
            del self.leases[lease.folder]
            if self.leases or self._thread is None:
                return
            thread, self._thread = self._thread, None
            self._stopped.set()
        thread.join()

    def _beat(self, stopped: threading.Event) -> None:
        while not stopped.wait(BEAT):
            for lease in list(self.leases.values()):
                lease.beat()


@dataclass(frozen=True)
class _Look:
    """The last look at a lease, and the seconds for which it is known not to have changed."""

    stamp: tuple[int, int]
    content: bytes
    moment: float
    unchanged: float


class _Looks:
    """What this process has seen of the leases of others."""

    def __init__(self) -> None:
        self._last: dict[Path, _Look] = {}

    def is_expired(self, folder: Path, lease: Lease) -> bool:
        """Note a look at a lease, and return whether it has expired."""
        now, last, unchanged = time.monotonic(), self._last.get(folder), 0.0
        if last is not None and (last.stamp, last.content) == (lease.stamp, lease.content):
            unchanged = last.unchanged + min(now - last.moment, BEAT)
        self._last[folder] = _Look(lease.stamp, lease.content, now, unchanged)
        return unchanged >= EXPIRY


_HEART = _Heart()
_LOOKS = _Looks()


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return f"{getnode():x}"  # the address of its network card, on systems without /proc


@cache
def _namespace() -> str:
    """Return within what process numbers are unique."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _aside() -> str:
    return f"{LEASE}.{secrets.token_hex(8)}{ASIDE}"
