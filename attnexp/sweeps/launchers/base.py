"""The contract of an executor."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence

from attnexp.config.job import Job
from attnexp.sweeps.outcome import Outcome
from attnexp.sweeps.plan import PlannedJob

JobOf = Callable[[PlannedJob], Job]
"""Returns the job that a worker process runs for a planned job."""


class Executor(ABC):
    """Runs the jobs of a sweep, `max_batch_size` at a time, or all where it is None."""

    def __init__(self, job_of: JobOf, max_batch_size: int | None) -> None:
        self.job_of = job_of
        self._max_batch_size = max_batch_size

    def run(
        self, jobs: Sequence[PlannedJob], on_wait: Callable[[], None]
    ) -> Iterator[tuple[PlannedJob, Outcome]]:
        """Run jobs, and yield each with its outcome as far as that is known.

        A job that another process runs is `Status.RUNNING`. `on_wait` is called again and again
        while jobs run; an exception that it raises ends the iteration.
        """
        size = self._max_batch_size or len(jobs)
        for start in range(0, len(jobs), size):
            yield from self._run_batch(jobs[start : start + size], on_wait)
            on_wait()

    @abstractmethod
    def _run_batch(
        self, jobs: Sequence[PlannedJob], on_wait: Callable[[], None]
    ) -> Iterator[tuple[PlannedJob, Outcome]]:
        """Run one batch of jobs as `run` does."""

    def cancel(self) -> None:  # noqa: B027  only a launcher of Hydra's waits where nothing ends it
        """Start no further jobs, and interrupt `run` from another thread where nothing else can."""

    @abstractmethod
    def stop(self) -> None:
        """Interrupt the running jobs, wait for their end, and start no further ones."""
