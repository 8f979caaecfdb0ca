"""What a worker process tells of itself and its jobs: that it is ready, and how each job ended."""

from dataclasses import dataclass
from typing import Literal

READY = "ready"
"""The message that a worker process sends once it has imported everything that jobs need."""

GRACE = 10.0
"""Seconds that an interrupted job has to record its interruption."""

Status = Literal["done", "skipped", "failed", "interrupted", "busy", "not run"]
"""The ways in which a job ends in a sweep. "busy" means that another process runs it."""


@dataclass(frozen=True)
class Outcome:
    """How a job ended in a sweep, with the error of a job that failed.

    `remark` is a sentence that the user should read although the job is done.
    """

    status: Status
    error: str | None = None
    remark: str | None = None


def first_line(error: str | None) -> str:
    """Return the first line of an error."""
    return (error or "no reason is known").strip().partition("\n")[0]
