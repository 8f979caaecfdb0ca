"""Signals that ask a run to end: it ends after the update at hand, with a checkpoint."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

PATIENCE = 3.0
"""Seconds that an update at hand has to end, before the run ends within it."""

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(KeyboardInterrupt):
    """A signal has ended the work: Ctrl-C, or what a scheduler or a closed terminal sends."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.number = number


def heed_signals() -> None:
    """Let this process end by Stopped where a scheduler or a closed terminal would kill it."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _raise)


def signal_behind(error: BaseException) -> int | None:
    """Return the number of the signal that has caused an error, or None where none has.

    An interrupt within a library may come out as an error of the library. Errors may name each
    other as their causes.
    """
    number: int | None = None
    cause: BaseException | None = error
    met: set[int] = set()
    while cause is not None and id(cause) not in met:
        met.add(id(cause))
        if isinstance(cause, Stopped):
            return cause.number
        if isinstance(cause, KeyboardInterrupt):
            number = signal.SIGINT
        cause = cause.__cause__ or cause.__context__
    return number


def _raise(number: int, _: FrameType | None) -> None:
    raise Stopped(number)


class Stop:
    """The wish that runs of this process end.

    Within `heard`, the first signal is a wish, which the work looks at where it can end well. What
    has not ended three seconds later, or at a second signal, is ended by Stopped. Only the main
    thread hears signals; one that the process ignores, as under nohup, stays ignored.
    """

    def __init__(self) -> None:
        self._number: int | None = None
        self._patient = False

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Hear the signals during the block."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in (*SIGNALS, signal.SIGALRM)}
        for number in SIGNALS:
            if before[number] is not signal.SIG_IGN:
                signal.signal(number, self._hear)
        signal.signal(signal.SIGALRM, self._end)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def awaited(self) -> Iterator[None]:
        """Let the block look at the wish by itself, by `obey`."""
        self._patient = True
        try:
            yield
        finally:
            self._patient = False
        self.obey()

    @property
    def wished(self) -> bool:
        """Whether a signal has come."""
        return self._number is not None

    def obey(self) -> None:
        """Raise Stopped where a signal has come."""
        if self._number is not None:
            self._end()

    def _hear(self, number: int, _: FrameType | None) -> None:
        first, self._number = self._number is None, number
        if not (first and self._patient):
            self._end()
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)

    def _end(self, *_: object) -> None:
        assert self._number is not None
        number, self._number = self._number, None
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise Stopped(number)
