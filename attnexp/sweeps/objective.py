"""Means of metrics over finished jobs."""

from collections.abc import Mapping, Sequence

from attnexp.core.errors import none_of
from attnexp.runs.folder import Run
from attnexp.runs.run_status import Status
from attnexp.runs.summary import Summary
from attnexp.select.number import metric_of, number_of, numbers_of
from attnexp.stats.scaled import mean
from attnexp.sweeps.plan import PlannedJob
from attnexp.sweeps.search import Choice, Means


class NotMeasuredError(Exception):
    """A job does not have a number. The message says why."""


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


def means_of(tried: Mapping[Choice, Sequence[PlannedJob]], given: str | None) -> Means:
    """Return the means of choices by the metric `given`, or by the task's metric for selection.

    With `given`, the task's metric decides among ties.
    """
    values: dict[Choice, float | None] = {}
    ties: dict[Choice, float] = {}
    metric, higher, higher_ties, error = given, False, False, ""
    for choice, jobs in tried.items():
        try:
            metric = metric or selection_of(jobs[0])
            values[choice] = mean_of(jobs, metric)
            better = finished(jobs[0]).better
            higher = better.get(metric_of(metric)) == "higher"
            if given is not None:
                own = selection_of(jobs[0])
                ties[choice] = mean_of(jobs, own)
                higher_ties = better.get(own) == "higher"
        except NotMeasuredError as reason:
            values.setdefault(choice, None)
            error = str(reason)
    return Means(metric, higher, values, ties, higher_ties, error)
