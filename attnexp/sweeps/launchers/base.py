"""The contract of an executor."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence

from attnexp.config.job import Job
from attnexp.sweeps.job_outcome import JobOutcome
from attnexp.sweeps.plan import PlannedJob

JobOf = Callable[[PlannedJob], Job]


class Executor(ABC):
    """Runs the jobs of a sweep."""

    def __init__(self, job_of: JobOf) -> None:
        self.job_of = job_of

    @abstractmethod
    def run(
        self, jobs: Sequence[PlannedJob], on_wait: Callable[[], None]
    ) -> Iterator[tuple[PlannedJob, JobOutcome]]:
        """Run jobs, and yield each job that has an outcome, with the outcome.

        A job that another process runs is `Status.RUNNING`. `on_wait` is called repeatedly while
        jobs run; an exception in `on_wait` ends the iteration.
        """

    def cancel(self) -> None:  # noqa: B027  only a launcher of Hydra's waits where nothing ends it
        """Interrupt, from another thread, a `run` that calls no `on_wait` while it waits."""

    @abstractmethod
    def stop(self) -> None:
        """Interrupt the running jobs, wait for their end, and start no further ones."""
