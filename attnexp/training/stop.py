"""Signals that ask a run to stop: it ends after the current update, with a checkpoint."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from attnexp.core.errors import causes

PATIENCE = 3.0
"""Seconds after the first signal until work that has not ended is stopped within its update."""

HAS_ALARM = hasattr(signal, "setitimer")
"""Whether the system has timers that send a signal: not on Windows."""

SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


class Stopped(KeyboardInterrupt):
    """A signal has ended the work: Ctrl-C, a scheduler's, or that of a closed terminal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    def __str__(self) -> str:
        return f"stopped by {signal.Signals(self.number).name}"


class NumpyFirst:
    """Imports numpy whenever torch is imported, just before it.

    Otherwise torch imports numpy from C, where a signal that comes in the meantime is lost.
    """

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        """Import numpy if `name` is torch. Finds no module, so that other finders are asked."""
        if name == "torch":
            import numpy  # noqa: F401


def install_handlers() -> None:
    """Let the signals of schedulers and closed terminals raise Stopped, and not kill."""
    sys.meta_path.insert(0, NumpyFirst)
    for number in SIGNALS:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _raise)


def signal_of(error: BaseException) -> int | None:
    """Return the number of the signal that caused an error, or None if no signal did.

    An interrupt within a library may appear as an error of the library.
    """
    found = list(causes(error))
    for cause in found:
        if isinstance(cause, Stopped):
            return cause.number
    return signal.SIGINT if any(isinstance(each, KeyboardInterrupt) for each in found) else None


def _raise(number: int, _: FrameType | None) -> None:
    raise Stopped(number)


class Stop:
    """A request to stop, set by a signal such as Ctrl-C or SIGTERM.

    Within both `handling_signals` and `deferred`, the first signal sets the request, which the work
    checks between updates. Stopped ends work that goes on three seconds later, or at a second
    signal; on Windows, only at a second signal. Signals reach only the main thread. A signal that
    the process ignores, as under nohup, stays ignored.
    """

    def __init__(self) -> None:
        self._number: int | None = None
        self._deferred = False

    @contextmanager
    def handling_signals(self) -> Iterator[None]:
        """Handle signals during the block. Outside `deferred`, a signal raises Stopped at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        alarm = {signal.SIGALRM: self._end} if HAS_ALARM else {}
        before = {number: signal.getsignal(number) for number in (*SIGNALS, *alarm)}
        for number in SIGNALS:
            if before[number] is not signal.SIG_IGN:
                signal.signal(number, self._handle)
        for number, handler in alarm.items():
            signal.signal(number, handler)
        try:
            yield
        finally:
            _set_alarm(0)
            for number, old in before.items():
                signal.signal(number, old)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Let a signal only set the request; the block calls `raise_if_requested` itself."""
        self._deferred = True
        try:
            yield
        finally:
            self._deferred = False
        self.raise_if_requested()

    @property
    def requested(self) -> bool:
        """Whether a signal has come."""
        return self._number is not None

    def raise_if_requested(self) -> None:
        """Raise Stopped if a signal has come."""
        if self._number is not None:
            self._end()

    def _handle(self, number: int, _: FrameType | None) -> None:
        first, self._number = self._number is None, number
        if not (first and self._deferred):
            self._end()
        _set_alarm(PATIENCE)

    def _end(self, *_: object) -> None:
        assert self._number is not None
        number, self._number = self._number, None
        _set_alarm(0)
        raise Stopped(number)


def _set_alarm(seconds: float) -> None:
    if HAS_ALARM:
        signal.setitimer(signal.ITIMER_REAL, seconds)
