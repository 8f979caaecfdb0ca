"""A limit of time for a block of code."""

import _thread
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from attnexp.core.errors import RunFailedError


@contextmanager
def time_limit(seconds: float, sentence: str) -> Iterator[None]:
    """Interrupt a block after some seconds, as Ctrl-C does, and raise RunFailedError(sentence)."""
    ended = threading.Event()

    def end() -> None:
        ended.set()
        _thread.interrupt_main()

    timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), end)
    timer.daemon = True
    before = signal.getsignal(signal.SIGINT) or signal.SIG_DFL
    if not callable(before):  # a job in the background ignores Ctrl-C, and an interrupt with it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        try:
            timer.start()
            yield
        finally:
            timer.cancel()
            timer.join()
            signal.signal(signal.SIGINT, before)
    except BaseException as error:
        # An interrupt within a library may come out as an error of the library.
        if not ended.is_set():
            raise
        raise RunFailedError(sentence) from error
