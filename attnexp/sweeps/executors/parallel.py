"""The executor of a sweep with hydra/launcher=parallel."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from attnexp.config.job import Job
from attnexp.errors import RequestError, RunFailedError
from attnexp.sweeps.executors.base import Executor, JobOf
from attnexp.sweeps.executors.gpus import reserve_gpu
from attnexp.sweeps.outcome import Outcome, first_line
from attnexp.sweeps.plan import PlannedJob
from attnexp.sweeps.worker_process import GRACE, WorkerProcess

POLL = 0.2
"""Seconds between two calls of `on_wait`."""


class ParallelExecutor(Executor):
    """Runs several jobs at a time on this machine, each in a worker process.

    joblib schedules threads, and each thread sends its job to an idle worker process and waits for
    the outcome. Hydra's own joblib launcher would send configurations and look for plugins again
    with every job; here each worker imports torch once.

    A worker has its share of the cores, and a GPU to itself where there are several. `launcher`
    holds the settings of Hydra's joblib launcher, which are those of joblib.Parallel; the backend
    is always threading. If `n_jobs` is negative, the number of workers is at most the number of
    cores divided by the jobs' `threads`. If `max_batch_size` is set, every so many jobs end before
    others start.

    Raises RequestError for an `n_jobs` that joblib refuses.
    """

    def __init__(
        self, launcher: Mapping[str, Any], job_of: JobOf, max_batch_size: int | None
    ) -> None:
        from joblib import effective_n_jobs

        own = ("_target_", "n_jobs", "backend", "batch_size")
        self._settings = {name: value for name, value in launcher.items() if name not in own}
        size = str(launcher["batch_size"])
        self._settings["batch_size"] = int(size) if size.isdigit() else size
        try:
            n_jobs = effective_n_jobs(launcher["n_jobs"])
        except ValueError as error:
            raise RequestError(f"hydra.launcher.n_jobs: {error}") from error
        self._max_workers = min(n_jobs, max_batch_size or n_jobs)
        self._cores = effective_n_jobs(-1)
        self._limited_by_cores = launcher["n_jobs"] < 0
        self._job_of = job_of
        self._max_batch_size = max_batch_size
        self._cancelled = threading.Event()
        self._driver: threading.Thread | None = None
        self._ended: SimpleQueue[tuple[PlannedJob, Outcome] | Exception | None] = SimpleQueue()
        self._workers: list[WorkerProcess] = []
        self._idle: dict[bool, SimpleQueue[WorkerProcess]] = {
            uses_gpu: SimpleQueue() for uses_gpu in (True, False)
        }

    def prepare(self, job: PlannedJob) -> None:
        if len(self._workers) < self._worker_count([job]):
            worker = self._new_worker(job)
            worker.start()
            self._idle[_may_use_gpu(job)].put(worker)

    def run(
        self, jobs: Sequence[PlannedJob], on_wait: Callable[[], None]
    ) -> Iterator[tuple[PlannedJob, Outcome]]:
        size = self._max_batch_size or len(jobs)
        for start in range(0, len(jobs), size):
            batch = jobs[start : start + size]
            self._driver = threading.Thread(target=self._drive, args=(batch,), daemon=True)
            self._driver.start()
            while (ended := self._next_ended(on_wait)) is not None:
                yield ended

    def cancel(self) -> None:
        self._cancelled.set()

    def stop(self) -> Iterable[tuple[PlannedJob, Outcome]]:
        self._cancelled.set()
        if self._driver is not None:
            self._driver.join(timeout=2 * GRACE)
            self._driver = None
        ended = []
        with suppress(Empty):
            while True:
                ended.append(self._ended.get_nowait())
        while self._workers:
            self._workers.pop().close()
        return [each for each in ended if isinstance(each, tuple)]

    def _next_ended(self, on_wait: Callable[[], None]) -> tuple[PlannedJob, Outcome] | None:
        """Return the next job that ends with its outcome, or None after the last job.

        Raises RunFailedError where joblib, or a worker process, cannot go on.
        """
        while True:
            try:
                ended = self._ended.get(timeout=POLL)
            except Empty:
                on_wait()
                continue
            if isinstance(ended, RunFailedError):
                raise ended
            if isinstance(ended, Exception):
                why = first_line(f"{type(ended).__name__}: {ended}")
                raise RunFailedError(f"the parallel launcher stopped early: {why}") from ended
            return ended

    def _worker_count(self, jobs: Sequence[PlannedJob]) -> int:
        """Return how many of these jobs may run at a time."""
        if not self._limited_by_cores:
            return self._max_workers
        settings = (job.settings.get("threads") for job in jobs)
        threads = max([1, *(each for each in settings if isinstance(each, int))])
        return max(1, min(self._max_workers, self._cores // threads))

    def _drive(self, jobs: Sequence[PlannedJob]) -> None:
        """Run jobs with joblib, in a thread that Ctrl-C does not interrupt."""
        from joblib import Parallel, delayed

        calls = (
            delayed(self._run_job)(planned, self._job_of(planned))
            for planned in jobs
            if not self._cancelled.is_set()
        )
        try:
            Parallel(self._worker_count(jobs), backend="threading", **self._settings)(calls)
        except Exception as error:
            self._ended.put(error)
        else:
            self._ended.put(None)

    def _run_job(self, planned: PlannedJob, job: Job) -> None:
        """Run a job in an idle worker, or in a new one where none is idle."""
        if self._cancelled.is_set():
            return
        idle = self._idle[_may_use_gpu(planned)]
        try:
            worker = idle.get_nowait()
        except Empty:
            worker = self._new_worker(planned)
        outcome = worker.run(job, self._interrupt_if_cancelled)
        idle.put(worker)
        if outcome is not None:
            self._ended.put((planned, outcome))

    def _new_worker(self, job: PlannedJob) -> WorkerProcess:
        threads = str(max(1, self._cores // self._worker_count([job])))
        environment = {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
        gpu = reserve_gpu() if _may_use_gpu(job) else {}
        self._workers.append(WorkerProcess(environment | gpu))
        return self._workers[-1]

    def _interrupt_if_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise KeyboardInterrupt


def _may_use_gpu(job: PlannedJob) -> bool:
    return job.settings.get("device") in ("auto", "cuda")
