"""What a finished job of a sweep was measured to be worth."""

from attnexp.errors import choices_text
from attnexp.runs.summary import Summary
from attnexp.sweeps.plan import PlannedJob


class NotMeasuredError(Exception):
    """A point has no value. The message says why."""


def finished(job: PlannedJob) -> Summary:
    """Return the summary of a job. Raises NotMeasuredError where the job has not finished."""
    found = job.with_state().found
    if found.state != "finished" or found.summary is None:
        raise NotMeasuredError(found.error or f"{job.folder.name} did not run to its end")
    return found.summary


def selection_of(summary: Summary) -> str:
    """Return the metric that a run's task selects by.

    Raises NotMeasuredError where the summary names none.
    """
    if summary.selection is None:
        raise NotMeasuredError("its summary does not say what to select by: give a metric")
    return summary.selection


def value_of(summary: Summary, metric: str) -> float:
    """Return the metric of a run. Raises NotMeasuredError where it is missing or not a number."""
    metrics = summary.metrics
    if metric not in metrics:
        raise NotMeasuredError(f"there is no metric '{metric}': choose {choices_text(metrics)}")
    value = metrics[metric]
    if value is None:
        raise NotMeasuredError(f"{metric} is not a number")
    return value
