"""The outcomes of jobs."""

from dataclasses import dataclass

from attnexp.runs.run_status import Status

GRACE = 10.0
"""Seconds that an interrupted job has to record its interruption."""


@dataclass(frozen=True)
class JobOutcome:
    """How a job ended in a sweep, with the error of a job that failed.

    The status is RUNNING for a job that another process runs, and NEW for a job that was not run.
    `warning` is a sentence for the user about a finished job.
    """

    status: Status
    error: str | None = None
    warning: str | None = None
