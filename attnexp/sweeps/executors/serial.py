"""The default engine: one job at a time, on this machine."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from attnexp.sweeps.executors.base import Engine, JobOf
from attnexp.sweeps.outcome import Outcome
from attnexp.sweeps.plan import Planned
from attnexp.sweeps.worker_process import Worker


class Here(Engine):
    """Runs jobs in a process beside this one, which imports torch once.

    It is handed `ahead` jobs beyond the one that runs, so that it need not wait for the next.
    """

    def __init__(self, job_of: JobOf, ahead: int = 1) -> None:
        self._job_of = job_of
        self._ahead = ahead
        self._worker = Worker()
        self._waiting: deque[Planned] = deque()
        self._cancelled = False

    def get_ready(self, job: Planned) -> None:
        self._worker.start()

    def run(
        self, jobs: Sequence[Planned], glance: Callable[[], None]
    ) -> Iterator[tuple[Planned, Outcome]]:
        coming = iter(jobs)
        for _ in range(1 + self._ahead):
            self._submit(coming)
        while self._waiting:
            outcome = self._worker.wait(glance)
            yield self._waiting.popleft(), outcome
            self._submit(coming)

    def cancel(self) -> None:
        self._cancelled = True

    def stop(self) -> Iterable[tuple[Planned, Outcome]]:
        outcome = self._worker.interrupt()
        running = [] if outcome is None else [(self._waiting[0], outcome)]
        self._waiting.clear()
        return running

    def _submit(self, coming: Iterator[Planned]) -> None:
        planned = None if self._cancelled else next(coming, None)
        if planned is not None:
            self._worker.submit(self._job_of(planned))
            self._waiting.append(planned)
