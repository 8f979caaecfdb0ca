"""The outcomes of jobs."""

from dataclasses import dataclass

from attnexp.runs.run_status import Status

GRACE = 10.0
"""Seconds that an interrupted job has to record its interruption."""


@dataclass(frozen=True)
class JobOutcome:
    """How a job ended in a sweep, with the error of a job that failed.

    A job that another process runs is running, and one that was not run is new.
    `warning` is a sentence for the user about a job that is done.
    """

    status: Status
    error: str | None = None
    warning: str | None = None
