"""Compiles the steps of the recurrences at first use, and loads them.

The library is in the user's cache, under a name that has a digest of the source, the compiler and
the processor. It appears whole or not at all, whichever processes compile it at once, and one that
somebody else could have written is not loaded.
"""

import ctypes
import hashlib
import os
import platform
import re
import shutil
import stat
import subprocess
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn

from attnexp.architectures.recurrence.cells import Cell, Gru, Lstm
from attnexp.core import console

SOURCE = Path(__file__).with_name("recurrence.c")
FLAGS = ("-O3", "-march=native", "-std=gnu11", "-shared", "-fPIC")
KINDS: dict[type[Cell], int] = {Gru: 0, Lstm: 1}
"""The number of each cell in the source."""

FUNCTIONS = ("scan", "scan_gradient", "unrolled", "unrolled_gradient")

SECONDS = 60
"""The most seconds that a compilation may take."""


class NoLibraryError(Exception):
    """The library cannot be made. The message has the reason."""


class Library:
    """Calls the compiled steps. `name` is the compiler and its version, such as `cc 14.2.0`."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        library = ctypes.CDLL(str(path))
        self._functions = {function: library[function] for function in FUNCTIONS}

    def __reduce__(self) -> tuple[Callable[[], "Library"], tuple[()]]:
        return load, ()

    def takes(self, cell: type[Cell], x: Tensor) -> bool:
        """Return whether steps of a cell on such numbers can be called: float32 on a CPU.

        They cannot while the operations of PyTorch are recorded, or replaced.
        """
        recorded = torch._C._len_torch_dispatch_stack() or torch.compiler.is_compiling()
        return (
            cell in KINDS and x.dtype is torch.float32 and x.device.type == "cpu" and not recorded
        )

    def call(self, function: str, cell: type[Cell], sizes: tuple[int, ...], *tensors: Any) -> None:
        """Call a function of the source with sizes and contiguous tensors, or None for no tensor.

        A tensor that is a part of the rows of a contiguous one is given by its first number.
        """
        pointers = [None if each is None else ctypes.c_void_p(each.data_ptr()) for each in tensors]
        self._functions[function](KINDS[cell], *map(ctypes.c_long, sizes), *pointers)


def use(model: nn.Module, library: Library | None) -> None:
    """Let the recurrences of a model call the library, or PyTorch alone with None."""
    for module in model.modules():
        if isinstance(module, Recurrent):
            module.library = library


class Recurrent(nn.Module):
    """A module whose recurrence may call the library."""

    library: Library | None = None


@cache
def load() -> Library:
    """Return the library, compiled if it is not in the cache.

    A file that cannot be loaded, such as one that was cut off, is compiled anew. Raises
    NoLibraryError without a compiler, for a source that it cannot compile, for a cache that cannot
    be written or that others can write, and for a library that cannot be loaded from there.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        raise NoLibraryError("no C compiler is found: there is no program cc")
    said = _output([compiler, "--version"]).partition("\n")[0]
    version = (re.findall(r"\d+\.\d+(?:\.\d+)?", said) or [said])[0]
    text = "\n".join([SOURCE.read_text(), compiler, said, *FLAGS, _processor()])
    folder = _folder()
    path = folder / f"recurrence-{hashlib.sha256(text.encode()).hexdigest()[:16]}.so"
    if not path.exists():
        with console.status("compiling the steps of recurrences"):
            _compile(compiler, path)
    _require_own(path)
    with suppress(OSError, AttributeError):
        return Library(path, f"cc {version}")
    _compile(compiler, path)
    try:
        return Library(path, f"cc {version}")
    except (OSError, AttributeError) as error:
        raise NoLibraryError(f"{path} cannot be loaded: {error}") from error


def _folder() -> Path:
    """Return the folder of the cache, which is made."""
    root = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    folder = Path(root).expanduser() / "attnexp"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except (OSError, RuntimeError) as error:
        raise NoLibraryError(f"{folder} cannot be made: {error}") from error
    above = folder.parent.stat().st_mode
    if above & 0o022 and not above & stat.S_ISVTX:
        raise NoLibraryError(f"{folder.parent} can be written by others: chmod go-w it")
    _require_own(folder)
    return folder


def _require_own(path: Path) -> None:
    """Raise NoLibraryError for a link, and for a path that another user owns or can write."""
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise NoLibraryError(f"{path} is a symbolic link: set XDG_CACHE_HOME to its target")
    if found.st_uid != os.getuid():
        raise NoLibraryError(f"{path} belongs to another user")
    if found.st_mode & 0o022:
        raise NoLibraryError(f"{path} can be written by others: chmod go-w it")


def _compile(compiler: str, path: Path) -> None:
    try:
        with TemporaryDirectory(dir=path.parent) as folder:
            made = Path(folder) / path.name
            _output([compiler, *FLAGS, "-o", str(made), str(SOURCE)])
            made.chmod(0o700)
            made.replace(path)
    except OSError as error:
        raise NoLibraryError(f"{path.parent} cannot be written: {error}") from error


def _output(command: list[str]) -> str:
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoLibraryError(f"{command[0]} cannot be run: {error}") from error
    if answer.returncode != 0:
        first = (answer.stderr.strip().splitlines() or [f"exit code {answer.returncode}"])[0]
        raise NoLibraryError(f"{command[0]} does not compile the steps: {first}")
    return answer.stdout.strip()


def _processor() -> str:
    """Return the instructions that this processor has."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"^(?:flags|Features)\s*:.*$", text, re.MULTILINE)
    return found[0] if found else platform.machine()
