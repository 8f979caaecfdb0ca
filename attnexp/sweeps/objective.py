"""The value of the objective of finished jobs."""

from collections.abc import Sequence

from attnexp.core.errors import none_of
from attnexp.runs.folder import Run
from attnexp.runs.run_status import Status
from attnexp.runs.summary import Summary
from attnexp.select.number import number_of, numbers_of
from attnexp.stats.scaled import mean
from attnexp.sweeps.plan import PlannedJob


class NotMeasuredError(Exception):
    """A point has no value. The message says why."""


def finished(job: PlannedJob) -> Summary:
    """Return the summary of a job. Raises NotMeasuredError if the job has not finished."""
    found = job.refreshed().found
    if found.status is not Status.FINISHED or found.summary is None:
        raise NotMeasuredError(found.error or f"{job.folder.name} did not run to its end")
    return found.summary


def selection_of(job: PlannedJob) -> str:
    """Return the metric that the task of a finished job selects by, without the test set.

    Raises NotMeasuredError if its summary names none.
    """
    metric = finished(job).selection
    if metric is None:
        raise NotMeasuredError("its summary names no metric to select by: give one")
    return metric


def mean_of(jobs: Sequence[PlannedJob], number: str) -> float:
    """Return the mean over jobs of a number, which is named as `select.number` says.

    Raises NotMeasuredError if a job has not finished, or does not have the number.
    """
    values = []
    for job in jobs:
        run = Run(str(job.folder), finished(job))
        value = number_of(run, number)
        if value is None:
            if number in run.summary.metrics:
                raise NotMeasuredError(f"{number} is not finite")
            raise NotMeasuredError(f"metric {none_of(number, numbers_of([run]))}")
        values.append(value)
    return mean(values)
