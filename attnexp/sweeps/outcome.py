"""How a job ended in a sweep."""

from dataclasses import dataclass
from typing import Literal

Status = Literal["done", "skipped", "failed", "interrupted", "busy", "not run"]
"""How a job ended in a sweep. A busy one is in the hands of another process."""


@dataclass(frozen=True)
class Outcome:
    """How a job ended in a sweep, and the error if it did not end well."""

    status: Status
    error: str | None = None


def first_line(error: str | None) -> str:
    """An error without what follows its first line."""
    return (error or "no reason is known").strip().partition("\n")[0]
