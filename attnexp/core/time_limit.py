"""A limit of time for a block of code."""

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from attnexp.core.errors import RunFailedError


@contextmanager
def time_limit(seconds: float, sentence: str) -> Iterator[None]:
    """Interrupt a block after some seconds, as Ctrl-C does, and raise RunFailedError(sentence).

    No signal takes part, so that a job in the background goes on ignoring Ctrl-C.
    """
    ended = threading.Event()
    thread = ctypes.c_ulong(threading.get_ident())

    def end() -> None:
        ended.set()
        ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(KeyboardInterrupt))

    timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), end)
    timer.daemon = True
    try:
        try:
            timer.start()
            yield
        finally:
            timer.cancel()
            timer.join()
    except BaseException as error:
        # An interrupt within a library may come out as an error of the library.
        if not ended.is_set():
            raise
        raise RunFailedError(sentence) from error
