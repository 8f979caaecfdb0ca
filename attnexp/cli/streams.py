"""Standard output and standard error, which may be closed, full, or of few letters."""

import codecs
import io
import os
import signal
import sys
from typing import TYPE_CHECKING, TextIO

from attnexp.runs.stop import Stopped

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

OUT, ERR = 1, 2


class Outlet(io.FileIO):
    """Standard output or error as raw bytes. What cannot be written is dropped: `lost` says why.

    So a sweep whose output goes to a full disk goes on. Where the reader of the output has left, as
    in `attnexp | head`, the first write raises Stopped, as SIGPIPE ends other programs.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number, "w", closefd=False)
        self.lost: OSError | None = None

    def write(self, content: "ReadableBuffer", /) -> int:
        """Write as much as the system takes, and return how much that was."""
        try:
            return super().write(content)
        except OSError as error:
            first = self.lost is None
            self.lost = self.lost or error
            if first and isinstance(error, BrokenPipeError) and self.fileno() == OUT:
                raise Stopped(signal.SIGPIPE) from error
        return memoryview(content).nbytes


def open_streams() -> Outlet:
    """Put streams of ours in the place of Python's, and return the outlet of standard output.

    What they cannot carry is escaped. Where the shell has closed one, no file of ours gets its
    number.
    """
    for number in range(ERR + 1):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # the lowest number that is free
    codecs.register_error("escaped", escaped)
    outlet = Outlet(OUT)
    sys.stdout = _stream(outlet, sys.stdout)
    sys.stderr = _stream(Outlet(ERR), sys.stderr)
    return outlet


def _stream(outlet: Outlet, like: TextIO | None) -> io.TextIOWrapper:
    """Return a text stream like one of Python's, which is None where it is closed."""
    return io.TextIOWrapper(
        io.BufferedWriter(outlet),
        encoding=like.encoding if like else "utf-8",
        errors="escaped",
        line_buffering=like.line_buffering if isinstance(like, io.TextIOWrapper) else False,
        write_through=like.write_through if isinstance(like, io.TextIOWrapper) else False,
    )


def escaped(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return what stands for characters that a stream cannot carry.

    The bytes of a path that the locale could not decode stand for themselves. Other characters have
    a stand-in of ASCII, or are escaped, as in `\\xe9`.
    """
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        pass
    assert isinstance(error, UnicodeEncodeError)
    letter = error.object[error.start]
    if letter in STAND_INS:
        return STAND_INS[letter], error.start + 1
    one = UnicodeEncodeError(
        error.encoding, error.object, error.start, error.start + 1, error.reason
    )
    return codecs.backslashreplace_errors(one)


STAND_INS = {
    "\N{PLUS-MINUS SIGN}": "+-",
    "\N{MULTIPLICATION SIGN}": "x",
    "\N{HORIZONTAL ELLIPSIS}": "...",
    "\N{EN DASH}": "-",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "\N{BULLET}": "*",
    "\N{BOX DRAWINGS LIGHT HORIZONTAL}": "-",
    "\N{BOX DRAWINGS LIGHT VERTICAL}": "|",
}
"""ASCII for the letters of our own tables and sentences."""
