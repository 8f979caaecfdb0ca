"""The command line that is carried out, as files record it."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

_COMMAND = ContextVar[str | None]("command", default=None)


def command_of(argv: Sequence[str]) -> str:
    """Return a command line as it was typed, by the words after `attnexp`."""
    return shlex.join(["attnexp", *argv])


@contextmanager
def carrying_out(command: str | None) -> Iterator[None]:
    """Let `current_command` return a command line inside the block."""
    token = _COMMAND.set(command)
    try:
        yield
    finally:
        _COMMAND.reset(token)


def current_command() -> str | None:
    """Return the command line of the block `carrying_out`, None outside of one, as in Python."""
    return _COMMAND.get()
