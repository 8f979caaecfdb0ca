"""The executor of sweeps on this machine: without a launcher, and hydra/launcher=parallel."""

import math
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from attnexp.config.job import Job
from attnexp.core import console
from attnexp.core.errors import RequestError
from attnexp.sweeps.job_outcome import GRACE, JobOutcome
from attnexp.sweeps.launchers.base import Executor, JobOf
from attnexp.sweeps.plan import PlannedJob
from attnexp.sweeps.pool import WorkerProcess, ended_jobs
from attnexp.training.auto_device import may_take_gpu

QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""The file in which Linux shows the share of the cores that a container may use."""


class LocalExecutor(Executor):
    """Runs `n_jobs` jobs at a time on this machine, each in a worker process.

    A worker has its share of the cores, and the GPUs are dealt out to the workers. `n_jobs` is read
    as joblib reads it: -1 is one job for each core, -2 one less. If it is negative, the number of
    workers is at most the number of cores divided by the jobs' `threads` and, for jobs that may use
    a GPU, the number of GPUs. On Windows jobs run one at a time: more was never tried.

    Raises RequestError for an `n_jobs` of 0.
    """

    def __init__(self, job_of: JobOf, n_jobs: int) -> None:
        super().__init__(job_of)
        if n_jobs == 0:
            raise RequestError(
                "hydra.launcher.n_jobs must not be 0: give the number of jobs to run at a "
                "time, or -1 for one job per core"
            )
        self._cores = core_count()
        self._limited_by_cores = n_jobs < 0
        self._max_workers = max(1, self._cores + 1 + n_jobs) if n_jobs < 0 else n_jobs
        if sys.platform == "win32" and self._max_workers > 1:
            console.print_line("on Windows the jobs of a sweep run one at a time")
            self._max_workers = 1
        self._workers: list[WorkerProcess] = []

    def stop(self) -> None:
        for worker in self._workers:
            worker.interrupt()
        end = time.monotonic() + GRACE
        while self._workers:
            self._workers.pop().stop(end)

    def run(
        self, jobs: Sequence[PlannedJob], on_wait: Callable[[], None]
    ) -> Iterator[tuple[PlannedJob, JobOutcome]]:
        planned = {job.folder: job for job in jobs}
        gpus = len(_gpus_of(jobs))
        if self._limited_by_cores and 0 < gpus < self._max_workers:
            console.print_line(
                f"at most {gpus} of the jobs run at a time, one for each GPU: "
                "hydra.launcher.n_jobs=N sets another number"
            )
        remaining = deque(self._groups(jobs))
        following: list[Job] = []
        while True:
            if remaining and not following:  # composed while the workers are busy
                following = [self.job_of(job) for job in remaining.popleft()]
            if following and (worker := self._free_worker(jobs)):
                worker.submit(following)
                following = []
                continue
            busy = [worker for worker in self._workers if worker.busy]
            if not busy:
                return
            ended = ended_jobs(busy)
            for job, outcome in ended:
                if outcome is None:
                    remaining.append([planned[job.folder]])
                else:
                    yield planned[job.folder], outcome
            if not ended:
                on_wait()

    def _groups(self, jobs: Sequence[PlannedJob]) -> Sequence[Sequence[PlannedJob]]:
        return [[job] for job in jobs]

    def _worker_count(self, jobs: Sequence[PlannedJob]) -> int:
        if not self._limited_by_cores:
            return self._max_workers
        settings = (job.settings.get("threads") for job in jobs)
        threads = max([1, *(each for each in settings if isinstance(each, int))])
        count = max(1, min(self._max_workers, self._cores // threads))
        return min(count, len(_gpus_of(jobs)) or count)

    def _free_worker(self, jobs: Sequence[PlannedJob]) -> WorkerProcess | None:
        """Return a free worker, started if need be; None while the most workers are busy."""
        count = self._worker_count(jobs)
        free = [worker for worker in self._workers if not worker.busy]
        if len(self._workers) - len(free) >= count:
            return None
        if free:
            return free[0]
        threads = str(max(1, self._cores // count))
        environment = {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
        if gpus := _gpus_of(jobs):
            environment["CUDA_VISIBLE_DEVICES"] = gpus[len(self._workers) % len(gpus)]
        worker = WorkerProcess(environment)
        self._workers.append(worker)
        return worker


def _gpus_of(jobs: Sequence[PlannedJob]) -> list[str]:
    """Return the GPUs that are dealt out to the workers of these jobs."""
    gpus = visible_gpus()
    return gpus if gpus and any(may_take_gpu(job.settings) for job in jobs) else []


def visible_gpus() -> list[str]:
    """Return the GPUs that CUDA would show to this process, without importing torch."""
    asked = os.environ.get("CUDA_VISIBLE_DEVICES")
    if asked is not None:
        return [gpu.strip() for gpu in asked.split(",") if gpu.strip() not in ("", "-1")]
    try:
        return [str(number) for number, _ in enumerate(os.listdir("/proc/driver/nvidia/gpus"))]
    except OSError:
        return []


def core_count() -> int:
    """Return the number of cores that this process and its container may use."""
    count = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    with suppress(OSError, ValueError):  # the file is missing, or it has no quota
        quota, period = map(int, QUOTA.read_text().split())
        count = min(count, math.ceil(quota / period))
    return count
