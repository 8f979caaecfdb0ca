"""The contract of an executor."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence

from attnexp.config.job import Job
from attnexp.sweeps.outcome import Outcome
from attnexp.sweeps.plan import PlannedJob

JobOf = Callable[[PlannedJob], Job]
"""Returns the job that a worker process runs for a planned job."""


class Executor(ABC):
    """Runs the jobs of a sweep, `max_batch_size` at a time, or all where it is None."""

    def __init__(self, job_of: JobOf, max_batch_size: int | None) -> None:
        self._job_of = job_of
        self._max_batch_size = max_batch_size

    def prepare(self, job: PlannedJob) -> None:  # noqa: B027  most have nothing to prepare
        """Start in the background what this job needs. The job is certain to be run."""

    def run(
        self, jobs: Sequence[PlannedJob], on_wait: Callable[[], None]
    ) -> Iterator[tuple[PlannedJob, Outcome]]:
        """Run jobs, and yield each with its outcome as far as that is known.

        A job that another process runs has the outcome "busy". `on_wait` is called again and again
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

    @abstractmethod
    def cancel(self) -> None:
        """Start no further jobs. May be called from any thread."""

    @abstractmethod
    def stop(self) -> Iterable[tuple[PlannedJob, Outcome]]:
        """Interrupt the running jobs, start no further ones, and return the interrupted jobs."""
