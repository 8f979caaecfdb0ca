"""The executor of a sweep with hydra/launcher=parallel."""

import math
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from attnexp.errors import RequestError
from attnexp.sweeps import fork_server
from attnexp.sweeps.executors.base import JobOf
from attnexp.sweeps.executors.gpus import reserve_gpu
from attnexp.sweeps.executors.local import LocalExecutor
from attnexp.sweeps.fork_server import ForkServer
from attnexp.sweeps.plan import PlannedJob

QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""Where Linux shows the share of the cores that a container may use."""


class ParallelExecutor(LocalExecutor):
    """Runs `n_jobs` jobs at a time on this machine, each in a worker process.

    A worker has its share of the cores, and a GPU to itself where there are several. Workers are
    forked from a process that has imported torch, where the system allows it. `n_jobs` is
    read as joblib reads it: -1 is one job for each core, -2 one less. If it is negative, the number
    of workers is at most the number of cores divided by the jobs' `threads`.

    Raises RequestError for an `n_jobs` of 0.
    """

    def __init__(self, job_of: JobOf, max_batch_size: int | None, n_jobs: int) -> None:
        server = ForkServer() if fork_server.SAFE else None
        super().__init__(job_of, queued=0, max_batch_size=max_batch_size, server=server)
        if n_jobs == 0:
            raise RequestError(
                "hydra.launcher.n_jobs: n_jobs == 0 has no meaning: give the number of jobs at a "
                "time, or -1 for one job for each core"
            )
        self._cores = core_count()
        self._limited_by_cores = n_jobs < 0
        wanted = max(1, self._cores + 1 + n_jobs) if n_jobs < 0 else n_jobs
        self._max_workers = min(wanted, max_batch_size or wanted)

    def _worker_count(self, jobs: Sequence[PlannedJob]) -> int:
        if not self._limited_by_cores:
            return self._max_workers
        settings = (job.settings.get("threads") for job in jobs)
        threads = max([1, *(each for each in settings if isinstance(each, int))])
        return max(1, min(self._max_workers, self._cores // threads))

    def _uses_gpu(self, job: PlannedJob) -> bool:
        return job.settings.get("device") in ("auto", "cuda")

    def _environment(self, job: PlannedJob) -> Mapping[str, str]:
        threads = str(max(1, self._cores // self._worker_count([job])))
        gpu = reserve_gpu() if self._uses_gpu(job) else {}
        return {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads, **gpu}


def core_count() -> int:
    """Return the number of cores that this process and its container may use."""
    count = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        count = len(os.sched_getaffinity(0))
    with suppress(OSError, ValueError):  # there is no such file, or no quota in it
        quota, period = map(int, QUOTA.read_text().split())
        count = min(count, math.ceil(quota / period))
    return count
