"""Calls a function in a process of its own, which is started and watched as a worker is."""

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

    The server that forks the process forks the workers of sweeps too. If it does not run yet, it
    imports the modules `preloaded` first.

    Errors cross as text. Raises RequestError as the function does, RuntimeError for any other error
    of it and if it calls `sys.exit`, TimeoutError if it has not returned after some seconds,
    ChildProcessError if its process dies, and RunFailedError if no process starts.
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
    """Call a function in this process, and send its result, its refusal or its error."""
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
