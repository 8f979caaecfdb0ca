"""Calls a function in another process, started and watched like a worker."""

from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from attnexp.core.errors import RequestError, message
from attnexp.sweeps.pool import COMPILER, PRELOADED, ChildProcess

Result = TypeVar("Result")

Call = tuple[Callable[..., Any], tuple[object, ...]]
"""A function and its arguments."""


def in_own_process(
    seconds: float,
    function: Callable[..., Result],
    *arguments: object,
    preloaded: Sequence[str] = (PRELOADED, COMPILER),
) -> Result:
    """Return the result of a function that is called in a new process, and end that process.

    The process is forked by the server of sweeps' workers. If the server does not run yet, it
    imports the modules `preloaded` first.

    Errors cross as text. Raises RequestError if the function does, RuntimeError for other errors of
    the function and for `sys.exit`, TimeoutError without a result after `seconds`,
    ChildProcessError if the process dies, and RunFailedError if no process starts.
    """
    child = ChildProcess(answer)
    child.start(preloaded)
    try:
        result, refused, failed = child.ask((function, arguments), seconds)
    finally:
        child.close()
    if refused:
        raise RequestError(refused)
    if failed:
        raise RuntimeError(failed)
    found: Result = result
    return found


def answer(call: Call, pipe: Connection) -> bool:
    """Call a function in this process, and send its result, or the text of its error."""
    function, arguments = call
    found: tuple[object, str, str]
    try:
        found = function(*arguments), "", ""
    except RequestError as error:
        found = None, str(error), ""
    except (Exception, SystemExit) as error:  # code of the user's may raise anything
        found = None, "", f"{type(error).__name__}: {message(error)}"
    pipe.send(found)
    return True
