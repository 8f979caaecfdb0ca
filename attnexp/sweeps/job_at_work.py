"""A job as the process runs it that it was sent to: in its folder, with its output in its log."""

import faulthandler
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from attnexp.config.job import Job, at_work, finished_before
from attnexp.runs import files, lease, lock
from attnexp.runs.summary import error_text, first_summary
from attnexp.sweeps.outcome import Outcome

if TYPE_CHECKING:
    from attnexp.training.prepared import PreparedRun

Report = Callable[[int, Outcome], None]
"""Is called with the number of a job that has ended, and its outcome."""


def run_job(job: Job) -> Outcome:
    """Run a job in its folder, unless it has finished or another process is running it."""
    try:
        with lock.hold(job.folder):
            if finished_before(job) is not None:
                return Outcome("skipped")
            with output_to_log(job):
                at_work(job, partial(_build_and_train, job))
    except BaseException as error:
        return outcome_of(error)
    return Outcome("done")


def outcome_of(error: BaseException) -> Outcome:
    """Return the outcome of a job that an error has ended."""
    if isinstance(error, lock.BusyError | lease.TakenOverError):
        return Outcome("busy", str(error))
    if isinstance(error, KeyboardInterrupt):
        return Outcome("interrupted")
    return Outcome("failed", error_text(error))


def build(job: Job) -> "PreparedRun":
    """Build the run of a job. What is wrong with it is written into its summary and raised."""
    from attnexp.config import build
    from attnexp.training.recording import record_end

    try:
        return build.prepare(job.config, job.chosen, job.command)
    except BaseException as error:
        lease.confirm(job.folder)
        files.clear(job.folder)
        opening = first_summary(job.settings, job.chosen, job.command)
        record_end(job.folder, opening, error)
        raise


def _build_and_train(job: Job) -> None:
    from attnexp.training.run import execute

    execute(build(job), job.folder)


@contextmanager
def output_to_log(job: Job) -> Iterator[None]:
    """Write what the job prints, and the interpreter's report of a crash, into the job's log."""
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
