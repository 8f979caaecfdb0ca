"""The scheduler of a sweep: runs the planned jobs that have not finished."""

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from attnexp import console
from attnexp.errors import RunFailedError
from attnexp.runs import lock
from attnexp.runs.state import look, stamp
from attnexp.sweeps.executors.base import Executor, JobOf
from attnexp.sweeps.outcome import Outcome
from attnexp.sweeps.plan import Plan, PlannedJob
from attnexp.sweeps.progress import SweepProgress
from attnexp.sweeps.progress_display import displayed
from attnexp.sweeps.summary import show_outcomes
from attnexp.sweeps.worker_process import record_end

ATTEMPTS = 2
"""How often a job is started whose process vanishes and leaves no outcome."""


class FailedFastError(Exception):
    """A job has failed, and fail_fast asks to stop there."""


class Scheduler:
    """Runs the jobs of a plan on an executor."""

    def __init__(self, plan: Plan, executor: Executor, job_of: JobOf, fail_fast: bool) -> None:
        self._plan = plan
        self._executor = executor
        self._job_of = job_of
        self._fail_fast = fail_fast
        self._failed = False
        self._vanished: Counter[Path] = Counter()
        self._progress = SweepProgress(plan.to_do, self._note_failure)

    def run(self) -> None:
        """Run the jobs that have not finished, and show the outcomes.

        The executor can be used again afterwards, unless the sweep was interrupted. Raises
        RunFailedError where a job has not finished, and KeyboardInterrupt with the number of
        finished jobs where the sweep was interrupted.
        """
        try:
            self.run_jobs()
        except FailedFastError:
            console.say("fail_fast=true: the rest is not run")
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"interrupted: {self._finished()} of {len(self._plan.jobs)} jobs are done; the "
                "same command goes on with the rest"
            ) from None
        finally:
            show_outcomes(self._plan.jobs, self._outcomes())
        self._raise_failures()

    def run_jobs(self) -> None:
        """Run the jobs that have not finished, and display the progress.

        The executor can be used again afterwards, unless an exception ended the run. Raises
        FailedFastError where a job fails and the rest is not to be run.
        """
        try:
            with displayed(self._progress):
                self._run_rounds()
        except BaseException:
            for job, outcome in self._executor.stop():
                self._progress.record(job, outcome)
            raise

    def _run_rounds(self) -> None:
        """Run the remaining jobs again and again, until none remain or a round starts none.

        A job that another process runs is waited for.
        """
        announced, started = False, True
        while started and (remaining := self._progress.remaining):
            held = {job.folder for job in remaining if lock.is_held(job.folder)}
            self._progress.elsewhere |= held
            free = [job for job in remaining if job.folder not in held]
            if free:
                started = self._run_round(free)
                continue
            if not announced:
                console.say(f"waiting for {len(held)} jobs that another process is at work on")
                announced = True
            time.sleep(lock.RETRY)
            self._progress.update()

    def _run_round(self, jobs: Sequence[PlannedJob]) -> bool:
        """Run jobs, and return whether any of them was started."""
        before = {job.folder: stamp(job.folder) for job in jobs}
        silent = {job.folder: job for job in jobs}
        for job, outcome in self._executor.run(jobs, self._check_failures):
            del silent[job.folder]
            if outcome.status == "busy":
                self._progress.elsewhere.add(job.folder)
            else:
                self._progress.record(job, outcome)
            self._check_failures()
        self._progress.update()
        started = [job for folder, job in silent.items() if stamp(folder) != before[folder]]
        for job in started:
            self._count_vanished(job)
        return len(silent) < len(jobs) or bool(started)

    def _count_vanished(self, job: PlannedJob) -> None:
        """Record as failed a job whose process has vanished too often."""
        if look(job.folder, job.settings).state in ("died", "interrupted"):
            self._vanished[job.folder] += 1
            if self._vanished[job.folder] == ATTEMPTS:
                error = "its process vanished without a word, twice"
                ending = record_end(self._job_of(job), None, "failed", error)
                self._progress.record(job, ending)

    def _check_failures(self) -> None:
        if self._failed and self._fail_fast:
            raise FailedFastError

    def _note_failure(self) -> None:
        self._failed = True
        if self._fail_fast:
            self._executor.cancel()

    def _outcomes(self) -> dict[Path, Outcome]:
        """Return the outcomes of the jobs that have ended, by folder."""
        finished = [job for job in self._plan.jobs if job.found.state == "finished"]
        return {job.folder: Outcome("skipped") for job in finished} | self._progress.outcomes

    def _finished(self) -> int:
        return sum(end.status in ("done", "skipped") for end in self._outcomes().values())

    def _raise_failures(self) -> None:
        total = len(self._plan.jobs)
        if failed := sum(end.status == "failed" for end in self._outcomes().values()):
            raise RunFailedError(
                f"{failed} of {total} jobs failed; the same command runs them again"
            )
        if missing := total - self._finished():
            raise RunFailedError(
                f"{missing} of {total} jobs have not run to the end; the same command runs them"
            )
