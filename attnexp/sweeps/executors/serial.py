"""The executor of a sweep without a launcher."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from attnexp.sweeps.executors.base import Executor, JobOf
from attnexp.sweeps.outcome import Outcome
from attnexp.sweeps.plan import PlannedJob
from attnexp.sweeps.worker_process import WorkerProcess


class SerialExecutor(Executor):
    """Runs one job at a time in one worker process.

    `queued` jobs beyond the running one are sent to the process in advance, so that it does not
    wait between jobs.
    """

    def __init__(self, job_of: JobOf, queued: int) -> None:
        self._job_of = job_of
        self._queued = queued
        self._worker = WorkerProcess()
        self._submitted: deque[PlannedJob] = deque()
        self._cancelled = False

    def prepare(self, job: PlannedJob) -> None:
        self._worker.start()

    def run(
        self, jobs: Sequence[PlannedJob], on_wait: Callable[[], None]
    ) -> Iterator[tuple[PlannedJob, Outcome]]:
        remaining = iter(jobs)
        for _ in range(1 + self._queued):
            self._submit(remaining)
        while self._submitted:
            outcome = self._worker.wait(on_wait)
            yield self._submitted.popleft(), outcome
            self._submit(remaining)

    def cancel(self) -> None:
        self._cancelled = True

    def stop(self) -> Iterable[tuple[PlannedJob, Outcome]]:
        outcome = self._worker.interrupt()
        running = [] if outcome is None else [(self._submitted[0], outcome)]
        self._submitted.clear()
        return running

    def _submit(self, remaining: Iterator[PlannedJob]) -> None:
        planned = None if self._cancelled else next(remaining, None)
        if planned is not None:
            self._worker.submit(self._job_of(planned))
            self._submitted.append(planned)
