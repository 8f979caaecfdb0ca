"""Calls a function in a new process and ends that process."""

import multiprocessing
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def in_own_process(seconds: float, function: Callable[..., Result], *arguments: object) -> Result:
    """Return the result of a function that is called in a new process.

    Raises TimeoutError if it has not returned after some seconds, any error of the function, and
    RuntimeError if it called `sys.exit`.
    The process is ended in either case.
    """
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        try:
            return pool.apply_async(_called, (function, *arguments)).get(seconds)
        except multiprocessing.TimeoutError as error:
            raise TimeoutError(f"{function.__name__} took over {seconds:g} s") from error


def _called(function: Callable[..., Result], *arguments: object) -> Result:
    try:
        return function(*arguments)
    except SystemExit as error:  # which would end the process without a result
        raise RuntimeError(f"sys.exit({error.code!r}) was called") from error
