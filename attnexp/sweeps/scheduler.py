"""A sweep from its plan to its table: what is missing is run, whatever has happened before."""

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from attnexp import console
from attnexp.errors import RunFailedError
from attnexp.runs import lock
from attnexp.runs.state import look, stamp
from attnexp.sweeps.executors.base import Engine, JobOf
from attnexp.sweeps.outcome import Outcome
from attnexp.sweeps.plan import Plan, Planned
from attnexp.sweeps.progress import Board
from attnexp.sweeps.progress_display import watched
from attnexp.sweeps.summary import show_outcomes
from attnexp.sweeps.worker_process import record_end

ATTEMPTS = 2
"""How often a job is begun whose process vanishes without a word."""


class FailedFastError(Exception):
    """A job has failed, and the rest is not wanted."""


class Sweep:
    """The jobs of a plan on an engine."""

    def __init__(self, plan: Plan, engine: Engine, job_of: JobOf, fail_fast: bool) -> None:
        self._plan = plan
        self._engine = engine
        self._job_of = job_of
        self._fail_fast = fail_fast
        self._failed = False
        self._vanished: Counter[Path] = Counter()
        self._board = Board(plan.to_do, self._note_failure)

    def run(self) -> None:
        """Run what has not finished, and show how all ended.

        Raises RunFailedError where a job failed, and KeyboardInterrupt with what to do next where
        the sweep was interrupted.
        """
        try:
            self.work()
        except FailedFastError:
            console.say("fail_fast=true: the rest is not run")
        except KeyboardInterrupt:
            raise KeyboardInterrupt(self._interrupted()) from None
        finally:
            self._stop()
            show_outcomes(self._plan.jobs, self.outcomes())
        self._raise_failures()

    def work(self) -> None:
        """Run what has not finished, showing how far it is.

        Raises FailedFastError when a job fails, if that is to end the sweep. The engine goes on to
        be there for other jobs, unless the work was cut short.
        """
        try:
            with watched(self._board):
                self._run()
        except BaseException:
            self._stop()
            raise

    def outcomes(self) -> dict[Path, Outcome]:
        """How the jobs have ended so far, by their folders."""
        finished = [job for job in self._plan.jobs if job.found.state == "finished"]
        return {job.folder: Outcome("skipped") for job in finished} | self._board.outcomes

    def _stop(self) -> None:
        for job, outcome in self._engine.stop():
            self._board.settle(job, outcome)

    def _run(self) -> None:
        """Rounds over what remains, until nothing does or a round leads nowhere."""
        told, moved = False, True
        while moved and (remaining := self._board.remaining()):
            free = []
            for job in remaining:
                if lock.is_held(job.folder):
                    self._board.elsewhere.add(job.folder)
                else:
                    free.append(job)
            if free:
                moved = self._round(free)
                continue
            if not told:
                console.say(f"waiting for {len(remaining)} jobs that another process is at work on")
                told = True
            time.sleep(lock.RETRY)
            self._board.look()

    def _round(self, jobs: Sequence[Planned]) -> bool:
        """Run jobs, and return whether that has led anywhere."""
        before = {job.folder: stamp(job.folder) for job in jobs}
        unheard = {job.folder: job for job in jobs}
        for job, outcome in self._engine.run(jobs, self._glance):
            del unheard[job.folder]
            if outcome.status == "busy":
                self._board.elsewhere.add(job.folder)
            else:
                self._board.settle(job, outcome)
            self._glance()
        self._board.look()
        begun = [job for folder, job in unheard.items() if stamp(folder) != before[folder]]
        for job in begun:
            self._judge(job)
        return len(unheard) < len(jobs) or bool(begun)

    def _judge(self, job: Planned) -> None:
        """Give up on a job that was begun and of which nothing was heard, if it happens again."""
        if look(job.folder, job.settings).state in ("died", "interrupted"):
            self._vanished[job.folder] += 1
            if self._vanished[job.folder] == ATTEMPTS:
                why = "its process vanished without a word, twice"
                self._board.settle(job, record_end(self._job_of(job), None, "failed", why))

    def _glance(self) -> None:
        if self._failed and self._fail_fast:
            raise FailedFastError

    def _note_failure(self) -> None:
        self._failed = True
        if self._fail_fast:
            self._engine.cancel()

    def _interrupted(self) -> str:
        ends = Counter(outcome.status for outcome in self.outcomes().values())
        done = ends["done"] + ends["skipped"]
        return (
            f"interrupted: {done} of {len(self._plan.jobs)} jobs are done; the same command goes "
            "on with the rest"
        )

    def _raise_failures(self) -> None:
        ends = Counter(outcome.status for outcome in self.outcomes().values())
        total = len(self._plan.jobs)
        if ends["failed"]:
            raise RunFailedError(
                f"{ends['failed']} of {total} jobs failed; the same command runs them again"
            )
        missing = total - ends["done"] - ends["skipped"]
        if missing:
            raise RunFailedError(
                f"{missing} of {total} jobs have not run to the end; the same command runs them"
            )
