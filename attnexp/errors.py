"""The errors that a user can mend, and the parts of their sentences."""

from collections.abc import Iterable
from difflib import get_close_matches


class RequestError(Exception):
    """The request cannot be carried out as it stands. The text is for the user; exit code 2."""


class RunFailedError(Exception):
    """A run began and did not end well. The text is for the user; exit code 1."""


def choices_text(names: Iterable[str]) -> str:
    """Return the sorted names as `a, b or c`."""
    *head, last = sorted(names)
    return f"{', '.join(head)} or {last}" if head else last


def nearest_text(name: str, names: Iterable[str]) -> str:
    """Return ` Did you mean 'x'?` if one of the names is similar, else an empty text."""
    near = get_close_matches(name, list(names), n=1, cutoff=0.6)
    return f" Did you mean '{near[0]}'?" if near else ""
