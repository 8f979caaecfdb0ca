"""Compiles the steps of the recurrences at first use, without importing PyTorch.

The library is in the user's cache, under a name that has a digest of the source, the compiler and
the processor, and one of its own content: a file that was cut off is not loaded, which would end
the process. It appears whole or not at all, whichever processes compile it at once, and one that
somebody else could have written is not loaded.
"""

import ctypes
import hashlib
import os
import platform
import re
import shutil
import signal
import stat
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE
from tempfile import TemporaryDirectory
from typing import Any

from attnexp.core import console
from attnexp.core.errors import refusal

SOURCE = Path(__file__).with_name("recurrence") / "native" / "recurrence.c"
FUNCTIONS = ("scan", "scan_gradient", "unrolled", "unrolled_gradient")
FLAGS = ("-O3", "-march=native", "-std=gnu11", "-shared", "-fPIC")

DIGITS = 16
"""Digits of each digest in the name of a library."""

LARGEST = 2**24
"""The most bytes of a library, which takes some thousands."""

SECONDS = 30.0
"""The most seconds that the compiler may take to answer."""


class NoLibraryError(Exception):
    """The library cannot be made. The message has the reason."""


@dataclass(frozen=True)
class Compiled:
    """A library: its file, and its compiler with the version, such as `cc 14.2.0`."""

    path: Path
    compiler: str

    @property
    def is_whole(self) -> bool:
        """Whether the file has the content that was compiled.

        Nothing else is read: a pipe would be waited for, and a device or a sparse file never ends.
        """
        found = self.path.lstat()
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
            return False
        return self.path.stem.endswith(_digest(self.path.read_bytes()))

    def load(self) -> dict[str, Any]:
        """Load the library, and return its functions.

        Raises NoLibraryError for a file that is not whole, that others can write, or that the
        system does not load, as from a folder mounted with noexec.
        """
        try:
            _require_own(self.path)
            if not self.is_whole:
                raise NoLibraryError(f"{self.path} is not as it was compiled")
            library = ctypes.CDLL(str(self.path))
            return {function: library[function] for function in FUNCTIONS}
        except (OSError, AttributeError) as error:
            why = str(error).removeprefix(f"{self.path}: ")
            raise NoLibraryError(f"{self.path} cannot be loaded: {why}") from error


Answer = Compiled | NoLibraryError | None
"""The library, or why there is none; None if nobody has asked."""


class _Asked:
    answer: Answer = None


def known() -> Answer:
    """Return what this process knows, for another that then need not ask the compiler."""
    return _Asked.answer


def remember(answer: Answer) -> None:
    """Take over what another process of this machine knows; with None, forget it."""
    _Asked.answer = answer


def compiled() -> Compiled:
    """Return the library, compiled if the cache has none that is whole.

    Raises NoLibraryError without a compiler, for one that fails or does not answer, for a cache
    that cannot be written or that others can write, and for a library that cannot be loaded from
    there. A process asks the compiler once, also in vain.
    """
    if _Asked.answer is None:
        try:
            _Asked.answer = _found_or_made()
        except NoLibraryError as error:
            _Asked.answer = NoLibraryError(*error.args)
    if isinstance(_Asked.answer, NoLibraryError):
        raise NoLibraryError(*_Asked.answer.args)
    return _Asked.answer


def _found_or_made() -> Compiled:
    if not hasattr(os, "getuid"):
        raise NoLibraryError("the steps are not compiled on Windows")
    compiler = shutil.which("cc")
    if compiler is None:
        raise NoLibraryError("no C compiler is found: there is no program cc")
    try:
        found = _in_cache(str(Path(compiler).absolute()))
    except OSError as error:
        where = f"{error.filename} " if error.filename else ""
        raise NoLibraryError(f"{where}cannot be used: {refusal(error)}") from error
    found.load()
    return found


def _in_cache(compiler: str) -> Compiled:
    said = _output([compiler, "--version"]).partition("\n")[0]
    version = (re.findall(r"\d+\.\d+(?:\.\d+)?", said) or [said])[0]
    made_of = "\n".join([compiler, said, *FLAGS, _processor()]).encode() + SOURCE.read_bytes()
    name = f"recurrence-{_digest(made_of)}"
    folder = _folder()
    for path in folder.glob(f"{name}-*.so"):
        _require_own(path)
        if (found := Compiled(path, f"cc {version}")).is_whole:
            return found
    with console.status("compiling the steps of recurrences"):
        return Compiled(_compile(compiler, folder, name), f"cc {version}")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:DIGITS]


def _folder() -> Path:
    """Return the folder of the cache, which is made."""
    try:
        root = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser().absolute()
    except RuntimeError as error:
        raise NoLibraryError("there is no home folder: set XDG_CACHE_HOME") from error
    folder = root / "attnexp"
    _make_own(folder)
    above = root.stat().st_mode
    if above & 0o022 and not above & stat.S_ISVTX:
        raise NoLibraryError(f"{root} can be written by others: chmod go-w it")
    _require_own(folder)
    return folder


def _make_own(folder: Path) -> None:
    """Make a folder and those above it that no other user can write, whatever the umask."""
    if os.path.isdir(folder):
        return
    _make_own(folder.parent)
    with suppress(FileExistsError):  # another process was first
        folder.mkdir(0o700)
        folder.chmod(0o700)


def _require_own(path: Path) -> None:
    """Raise NoLibraryError for a link, and for a path that another user owns or can write."""
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise NoLibraryError(f"{path} is a symbolic link: set XDG_CACHE_HOME to its target")
    if found.st_uid != os.getuid():
        raise NoLibraryError(f"{path} belongs to another user")
    if found.st_mode & 0o022:
        raise NoLibraryError(f"{path} can be written by others: chmod go-w it")


def _compile(compiler: str, folder: Path, name: str) -> Path:
    """Compile the library into a folder, and return its file."""
    with TemporaryDirectory(dir=folder) as aside:
        made = Path(aside) / "steps.so"
        _output([compiler, *FLAGS, "-o", made.name, str(SOURCE)], aside)
        if not os.path.exists(made):
            raise NoLibraryError(f"{compiler} has compiled nothing")
        made.chmod(0o700)
        with made.open("rb") as file:
            os.fsync(file.fileno())
            path = folder / f"{name}-{_digest(file.read())}.so"
        return made.replace(path)


def _output(command: list[str], folder: str | None = None) -> str:
    """Return what a command prints. It is ended with all that it has started if it takes long."""
    with subprocess.Popen(
        command, cwd=folder, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, process_group=0
    ) as process:
        try:
            said, complaint = process.communicate(timeout=SECONDS)
        except BaseException as error:
            with suppress(OSError):  # it has just ended
                os.killpg(process.pid, signal.SIGKILL)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            why = f"{command[0]} has not answered in {SECONDS:g} seconds"
            raise NoLibraryError(why) from error
    if process.returncode != 0:
        lines = complaint.decode(errors="replace").strip().splitlines()
        first = (lines or [f"exit code {process.returncode}"])[0]
        raise NoLibraryError(f"{command[0]} does not compile the steps: {first}")
    return said.decode(errors="replace").strip()


def _processor() -> str:
    """Return the instructions that this processor has."""
    try:
        text = Path("/proc/cpuinfo").read_text(errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"^(?:flags|Features)\s*:.*$", text, re.MULTILINE)
    return found[0] if found else platform.machine()
