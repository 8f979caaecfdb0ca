"""One job of a sweep in a worker process: built, trained, with its output in its log."""

import faulthandler
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from attnexp.config.job import Job, finished_before, run_in_context
from attnexp.runs import files, lock
from attnexp.runs.run_status import Status
from attnexp.runs.summary import Summary, error_text
from attnexp.sweeps.job_outcome import JobOutcome

if TYPE_CHECKING:
    from attnexp.training.prepared_run import PreparedRun

Report = Callable[[int, JobOutcome], None]
"""Receives the number of a job that has ended, and its outcome."""


def run_job(job: Job) -> JobOutcome:
    """Run a job in its folder, unless it has finished or another process is running it."""
    try:
        with lock.hold(job.folder):
            if finished_before(job.refreshed()) is not None:
                return JobOutcome(Status.SKIPPED)
            with output_to_log(job):
                run_in_context(job, partial(build_and_train, job))
    except BaseException as error:
        return outcome_of(error)
    return JobOutcome(Status.FINISHED)


def outcome_of(error: BaseException) -> JobOutcome:
    """Return the outcome of a job that an error has ended."""
    if isinstance(error, lock.BusyError | lock.TakenOverError):
        return JobOutcome(Status.RUNNING, str(error))
    if isinstance(error, KeyboardInterrupt):
        return JobOutcome(Status.INTERRUPTED)
    return JobOutcome(Status.FAILED, error_text(error))


def build(job: Job) -> "PreparedRun":
    """Build the run of a job. An error is written into its summary and raised."""
    from attnexp.config import build
    from attnexp.training.record.recording import record_end

    try:
        return build.prepare(job)
    except BaseException as error:
        lock.confirm(job.folder)
        record_end(job.folder, job.first_summary(), error)
        files.clear(job.folder, keep={files.SUMMARY})
        raise


def build_and_train(job: Job, run: "PreparedRun | None" = None) -> Summary:
    """Train a job, which is built unless its run is given. The caller holds the folder's lock."""
    from attnexp.training.execute import execute

    return execute(run or build(job), job.folder, draws=job.settings["figures"] is True)


@contextmanager
def output_to_log(job: Job) -> Iterator[None]:
    """Write the job's output, and the interpreter's report of a crash, into the job's log."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    with job.log.open("ab") as log:
        for number in (1, 2):
            os.dup2(log.fileno(), number)
        faulthandler.enable(log)
        try:
            yield
        finally:
            faulthandler.disable()
            sys.stdout.flush()
            sys.stderr.flush()
            for number, file in zip((1, 2), kept, strict=True):
                os.dup2(file, number)
                os.close(file)
