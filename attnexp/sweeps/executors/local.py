"""The executor of a sweep without a launcher."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from attnexp.sweeps.executors.base import Executor, JobOf
from attnexp.sweeps.fork_server import ForkServer
from attnexp.sweeps.outcome import GRACE, Outcome
from attnexp.sweeps.plan import PlannedJob
from attnexp.sweeps.worker_process import WorkerProcess, ended_jobs


class LocalExecutor(Executor):
    """Runs jobs in worker processes on this machine, one at a time unless a subclass allows more.

    Each worker imports torch once. `queued` jobs beyond the running one are sent to it in advance,
    so that it does not wait between jobs. Where a fork server is given, it makes the workers.
    """

    def __init__(
        self,
        job_of: JobOf,
        queued: int,
        max_batch_size: int | None = None,
        server: ForkServer | None = None,
    ) -> None:
        super().__init__(job_of, max_batch_size)
        self._capacity = 1 + queued
        self._server = server
        self._workers: dict[WorkerProcess, bool] = {}
        self._planned: dict[Path, PlannedJob] = {}
        self._cancelled = False

    def prepare(self, job: PlannedJob) -> None:
        if len(self._workers) < self._worker_count([job]):
            self._new_worker(job).start()

    def cancel(self) -> None:
        self._cancelled = True

    def stop(self) -> Iterable[tuple[PlannedJob, Outcome]]:
        self._cancelled = True
        for worker in self._workers:
            worker.interrupt()
        end = time.monotonic() + GRACE
        interrupted = []
        while self._workers:
            interrupted += self._workers.popitem()[0].stop(end)
        if self._server:
            self._server.close()
        return [(self._planned[job.folder], outcome) for job, outcome in interrupted]

    def _run_batch(
        self, jobs: Sequence[PlannedJob], on_wait: Callable[[], None]
    ) -> Iterator[tuple[PlannedJob, Outcome]]:
        self._planned = {job.folder: job for job in jobs}
        count = self._worker_count(jobs)
        remaining = deque(self._groups(jobs))
        while True:
            while remaining and (worker := self._free_worker(remaining[0][0], count)):
                worker.submit([self._job_of(job) for job in remaining.popleft()])
            busy = [worker for worker in self._workers if worker.submitted]
            if not busy:
                return
            waiting = True
            for job, outcome in ended_jobs(busy):
                waiting = False
                yield self._planned[job.folder], outcome
            if waiting:
                on_wait()

    def _free_worker(self, job: PlannedJob, count: int) -> WorkerProcess | None:
        """Return a worker for a job, or None while there is none among `count` busy ones."""
        if self._cancelled:
            return None
        kind = self._uses_gpu(job)
        fitting = [worker for worker, its_kind in self._workers.items() if its_kind == kind]
        if sum(worker.submitted > 0 for worker in self._workers) < count:
            return next((worker for worker in fitting if not worker.submitted), None) or (
                self._new_worker(job)
            )
        return next((each for each in fitting if 0 < each.submitted < self._capacity), None)

    def _new_worker(self, job: PlannedJob) -> WorkerProcess:
        worker = WorkerProcess(self._environment(job), self._server)
        self._workers[worker] = self._uses_gpu(job)
        return worker

    def _worker_count(self, jobs: Sequence[PlannedJob]) -> int:
        """Return how many of these jobs may run at a time."""
        return 1

    def _groups(self, jobs: Sequence[PlannedJob]) -> Sequence[Sequence[PlannedJob]]:
        """Return the jobs in the groups that are sent to a worker together: each by itself."""
        return [[job] for job in jobs]

    def _uses_gpu(self, job: PlannedJob) -> bool:
        """Return whether a job needs a worker that has a GPU to itself."""
        return False

    def _environment(self, job: PlannedJob) -> Mapping[str, str]:
        """Return the environment variables of a worker that is started for a job."""
        return {}
