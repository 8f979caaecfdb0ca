"""What one command line of ours did in this process, and what must never be seen of it."""

import io
import logging
import os
import re
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

LONGEST = 300
"""Letters of a message, apart from its list of choices."""

CHOICES = re.compile(r"(?<=[Cc]hoose ).*(?: or \S+$| and \d+ more)")
"""The list of choices of a message."""


class TooLongError(BaseException):
    """A command took more than its seconds. No `except Exception` holds it up."""


@dataclass(frozen=True)
class Outcome:
    """The exit code, None after an exception, and what was printed."""

    code: int | None
    out: str
    err: str
    escaped: str
    seconds: float

    def faults(self) -> list[str]:
        """What is wrong with how a command line ended, whatever it asked for."""
        found = []
        if self.escaped:
            found.append(f"exception: {self.escaped}")
        elif self.code not in (0, 1, 2):
            found.append(f"exit code {self.code}: {self.err.strip()[-300:]}")
        if "Traceback" in self.out + self.err:
            found.append("a traceback on the terminal")
        if "Warning:" in self.err:
            found.append(f"a warning of Python's: {self.err[-300:]}")
        raw = sorted({c for c in self.out + self.err if not _harmless(c)})
        if raw:
            found.append(f"raw control characters {raw!r}")
        if self.code in (1, 2):
            if not self.err.strip():
                found.append("no message")
            found += [
                f"message of {len(m)} letters"
                for m in self.err.splitlines()
                if len(CHOICES.sub("", m)) > LONGEST or len(m) > 5 * LONGEST
            ]
        return found


def _harmless(letter: str) -> bool:
    """Whether a letter steers no terminal; the bytes of an undecodable path do not."""
    return letter.isprintable() or letter in "\n\t" or "\udc80" <= letter <= "\udcff"


def run_here(words: Sequence[str], seconds: int, gigabytes: float = 6) -> Outcome:
    """Carry out a command line in this process, with bounded time and memory."""
    from attnexp.cli.main import run

    out, err = io.StringIO(), io.StringIO()
    code, escaped = None, ""
    start = time.monotonic()
    handlers = logging.root.handlers[:]
    with redirect_stdout(out), redirect_stderr(err), _memory(gigabytes):
        try:
            with _alarm(seconds):
                code = run(list(words))
        except TooLongError:
            escaped = f"longer than {seconds} s"
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 1
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            last = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(last.filename).name}:{last.lineno}"
            escaped = f"{type(error).__name__}: {str(error)[:150]!r} at {where}"
    for handler in logging.root.handlers[:]:
        if handler not in handlers:
            handler.close()
    logging.root.handlers[:] = handlers
    return Outcome(code, out.getvalue(), err.getvalue(), escaped, time.monotonic() - start)


@contextmanager
def _alarm(seconds: int) -> Iterator[None]:
    def late(*_: object) -> None:
        raise TooLongError

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _memory(gigabytes: float) -> Iterator[None]:
    """Bound the memory of this process to what it has and so much more."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if sys.platform == "linux" else 0
    if pages:
        most = pages * os.sysconf("SC_PAGE_SIZE") + int(gigabytes * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
