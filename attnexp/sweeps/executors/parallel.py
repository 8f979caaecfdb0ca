"""Jobs beside each other on this machine, through joblib."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from attnexp.config.job import Job
from attnexp.errors import RequestError, RunFailedError
from attnexp.sweeps.executors.base import Engine, JobOf
from attnexp.sweeps.executors.gpus import gpu_of_our_own
from attnexp.sweeps.outcome import Outcome, first_line
from attnexp.sweeps.plan import Planned
from attnexp.sweeps.worker_process import GRACE, Worker

GLANCE = 0.2
"""Seconds between two looks at whether the sweep goes on."""


class Beside(Engine):
    """Runs jobs in several workers, each with its share of the cores, and a GPU if there are more.

    joblib hands the jobs to threads, and a thread hands each to a worker that is free and waits for
    it. So what Hydra's own joblib launcher does again for every job, sending configurations and
    looking for plugins, is not done, and every worker imports torch once.

    `launcher` holds the settings of Hydra's joblib launcher, which are those of joblib.Parallel;
    its backend is always threads. With `n_jobs` below zero there are no more workers than the cores
    have room for, by the `threads` of the jobs. Of `max_batch_size` jobs, where that is set, all
    end before others begin.

    Raises RequestError for a number of jobs that joblib refuses.
    """

    def __init__(
        self, launcher: Mapping[str, Any], job_of: JobOf, max_batch_size: int | None
    ) -> None:
        from joblib import effective_n_jobs

        apart = ("_target_", "n_jobs", "backend", "batch_size")
        self._settings = {name: value for name, value in launcher.items() if name not in apart}
        size = str(launcher["batch_size"])
        self._settings["batch_size"] = int(size) if size.isdigit() else size
        try:
            asked = effective_n_jobs(launcher["n_jobs"])
        except ValueError as error:
            raise RequestError(f"hydra.launcher.n_jobs: {error}") from error
        self._most = min(asked, max_batch_size or asked)
        self._cores = effective_n_jobs(-1)
        self._by_cores = launcher["n_jobs"] < 0
        self._job_of = job_of
        self._size = max_batch_size
        self._over = threading.Event()
        self._driver: threading.Thread | None = None
        self._ended: SimpleQueue[tuple[Planned, Outcome] | Exception | None] = SimpleQueue()
        self._workers: list[Worker] = []
        self._idle: dict[bool, SimpleQueue[Worker]] = {True: SimpleQueue(), False: SimpleQueue()}

    def get_ready(self, job: Planned) -> None:
        if len(self._workers) < self._at_once([job]):
            worker = self._new_worker(job)
            worker.start()
            self._idle[_shares_gpus(job)].put(worker)

    def run(
        self, jobs: Sequence[Planned], glance: Callable[[], None]
    ) -> Iterator[tuple[Planned, Outcome]]:
        size = self._size or len(jobs)
        for start in range(0, len(jobs), size):
            batch = jobs[start : start + size]
            self._driver = threading.Thread(target=self._drive, args=(batch,), daemon=True)
            self._driver.start()
            while (ended := self._next(glance)) is not None:
                yield ended

    def cancel(self) -> None:
        self._over.set()

    def stop(self) -> Iterable[tuple[Planned, Outcome]]:
        self._over.set()
        if self._driver is not None:
            self._driver.join(timeout=2 * GRACE)
            self._driver = None
        unheard = []
        with suppress(Empty):
            while True:
                ended = self._ended.get_nowait()
                if isinstance(ended, tuple):
                    unheard.append(ended)
        while self._workers:
            self._workers.pop().close()
        return unheard

    def _next(self, glance: Callable[[], None]) -> tuple[Planned, Outcome] | None:
        """The next job that has ended, or None after the last.

        Raises RunFailedError where joblib, or a worker, cannot go on.
        """
        while True:
            try:
                ended = self._ended.get(timeout=GLANCE)
            except Empty:
                glance()
                continue
            if isinstance(ended, RunFailedError):
                raise ended
            if isinstance(ended, Exception):
                why = first_line(f"{type(ended).__name__}: {ended}")
                raise RunFailedError(f"the parallel launcher stopped early: {why}") from ended
            return ended

    def _at_once(self, jobs: Sequence[Planned]) -> int:
        """How many of these jobs may run beside each other."""
        if not self._by_cores:
            return self._most
        asked = (job.settings.get("threads") for job in jobs)
        threads = max([1, *(each for each in asked if isinstance(each, int))])
        return max(1, min(self._most, self._cores // threads))

    def _drive(self, jobs: Sequence[Planned]) -> None:
        """Run jobs to the end, in a thread of its own, which Ctrl-C does not reach."""
        from joblib import Parallel, delayed

        calls = (
            delayed(self._perform)(planned, self._job_of(planned))
            for planned in jobs
            if not self._over.is_set()
        )
        try:
            Parallel(self._at_once(jobs), backend="threading", **self._settings)(calls)
        except Exception as error:
            self._ended.put(error)
        else:
            self._ended.put(None)

    def _perform(self, planned: Planned, job: Job) -> None:
        """Run a job in a worker that is free, unless the sweep is over."""
        if self._over.is_set():
            return
        idle = self._idle[_shares_gpus(planned)]
        try:
            worker = idle.get_nowait()
        except Empty:
            worker = self._new_worker(planned)
        outcome: Outcome | None
        try:
            worker.submit(job)
            outcome = worker.wait(self._interrupt_if_over)
        except KeyboardInterrupt:
            outcome = worker.interrupt()
        idle.put(worker)
        if outcome is not None:
            self._ended.put((planned, outcome))

    def _new_worker(self, job: Planned) -> Worker:
        threads = str(max(1, self._cores // self._at_once([job])))
        environment = {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
        gpu = gpu_of_our_own() if _shares_gpus(job) else {}
        self._workers.append(Worker(environment | gpu))
        return self._workers[-1]

    def _interrupt_if_over(self) -> None:
        if self._over.is_set():
            raise KeyboardInterrupt


def _shares_gpus(job: Planned) -> bool:
    """Whether any GPU will do for a job."""
    return job.settings.get("device") in ("auto", "cuda")
