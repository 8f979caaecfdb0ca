"""Writes into the summaries of runs how a sweep has tuned their settings."""

from collections.abc import Mapping

from attnexp.core import console
from attnexp.core.errors import refusal
from attnexp.runs import lock
from attnexp.runs.run_status import Status
from attnexp.runs.summary import Tuning, record_tuning
from attnexp.sweeps.plan import PlannedJob
from attnexp.sweeps.tuned.axes import Case
from attnexp.sweeps.tuned.jobs import Tried, Tuned, TunedJobs, jobs_in


def record(
    jobs: TunedJobs,
    chosen: Mapping[Case, Tuned],
    found: Mapping[Case, Tried],
    tuning_run: bool,
) -> None:
    """Write into the finished runs of each configuration how its settings were chosen.

    A run that another sweep compared does not become a tuning run.
    """
    settings = jobs.settings
    for case, own in found.items():
        tuning = Tuning(
            {name: [each.typed for each in starts] for name, starts in jobs.axes.starts.items()},
            chosen[case].metric,
            list(settings.seeds),
            tuning_run,
            by_split=case[1] is not None,
            beyond=settings.beyond,
            finals=list(settings.finals),
            at_end=list(chosen[case].at_end),
        )
        for job in jobs_in([own]):
            _record(job, tuning)


def _record(job: PlannedJob, tuning: Tuning) -> None:
    found = job.refreshed().found
    if found.status is not Status.FINISHED or found.summary is None:
        return
    if tuning.tuning_run and found.summary.tuning and not found.summary.tuning.tuning_run:
        return
    try:
        with lock.hold(job.folder, on_busy=lambda _: None):
            record_tuning(job.folder, tuning)
    except OSError as error:
        console.warn(f"{job.folder} cannot be marked as tuned: {refusal(error)}")
