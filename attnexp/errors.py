"""The errors that a user can mend, and the parts of their sentences."""

import errno
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches

LONGEST = 280
"""Characters of a message about what went wrong."""

LONG_WORD = 50
"""Characters that stay of a long word in a message that is too long."""


class RequestError(Exception):
    """The request cannot be carried out. The text is for the user; exit code 2."""


class RunFailedError(Exception):
    """A run began and did not end well. The text is for the user; exit code 1."""


class OutputClosedError(KeyboardInterrupt):
    """The reader of standard output has gone, as in `attnexp | head`: work ends as at Ctrl-C."""


FULL = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "no file may grow that large",
}
"""Sentences for the system's errors about a full disk."""


def refusal(error: OSError) -> str:
    """Return why the system has refused to read or write, in words: `the disk is full`."""
    return FULL.get(error.errno or 0, error.strerror or str(error))


@contextmanager
def writable(option: str, path: object) -> Iterator[None]:
    """Make it a RequestError that a block cannot write a path that an option gives."""
    try:
        yield
    except OSError as error:
        raise RequestError(f"{option}: {path} cannot be written: {refusal(error)}") from error


def choices_text(names: Iterable[str]) -> str:
    """Return the sorted names as `a, b or c`, or `none` where there are none."""
    *head, last = sorted(names) or ["none"]
    return f"{', '.join(head)} or {last}" if head else last


def nearest_text(name: str, names: Iterable[str]) -> str:
    """Return ` Did you mean 'x'?` if one of the names is similar, else an empty text."""
    near = get_close_matches(name, list(names), n=1, cutoff=0.6)
    return f" Did you mean '{near[0]}'?" if near else ""


def none_of(name: str, names: Collection[str]) -> str:
    """Return `'name' is none of a, b or c.`, and the nearest of the names if one is similar."""
    return f"'{name}' is none of {choices_text(names)}.{nearest_text(name, names)}"


def shortened(text: str, most: int = LONGEST) -> str:
    """Return text in which the middle is left out where it has more characters than that.

    Long words, such as paths, lose their beginning first.
    """
    if len(text) <= most:
        return text
    words = (
        f"...{word[-LONG_WORD:]}" if len(word) > LONG_WORD else word for word in text.split(" ")
    )
    text = " ".join(words) if most > LONG_WORD else text
    if len(text) <= most:
        return text
    end = most * 2 // 5
    return f"{text[: most - end - 5]} ... {text[-end:]}"
