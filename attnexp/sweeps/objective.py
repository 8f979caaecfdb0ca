"""The value of the objective of finished jobs."""

import statistics
from collections.abc import Sequence

from attnexp.errors import choices_text
from attnexp.runs.status import Status
from attnexp.runs.summary import Summary
from attnexp.sweeps.plan import PlannedJob


class NotMeasuredError(Exception):
    """A point has no value. The message says why."""


def finished(job: PlannedJob) -> Summary:
    """Return the summary of a job. Raises NotMeasuredError where the job has not finished."""
    found = job.refreshed().found
    if found.status is not Status.FINISHED or found.summary is None:
        raise NotMeasuredError(found.error or f"{job.folder.name} did not run to its end")
    return found.summary


def selection_of(job: PlannedJob) -> str:
    """Return the metric that the task of a finished job selects by, without the test set.

    Raises NotMeasuredError where its summary names none.
    """
    metric = finished(job).selection
    if metric is None:
        raise NotMeasuredError("its summary does not say what to select by: give a metric")
    return metric


def mean_of(jobs: Sequence[PlannedJob], metric: str) -> float:
    """Return the mean of a metric over jobs.

    Raises NotMeasuredError where a job has not finished, or has no such metric or no number.
    """
    values = []
    for measured in (finished(job).metrics for job in jobs):
        if metric not in measured:
            raise NotMeasuredError(
                f"there is no metric '{metric}': choose {choices_text(measured)}"
            )
        if (value := measured[metric]) is None:
            raise NotMeasuredError(f"{metric} is not a number")
        values.append(value)
    return statistics.fmean(values)
