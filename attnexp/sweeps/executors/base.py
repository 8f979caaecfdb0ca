"""What runs the jobs of a sweep."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence

from attnexp.config.job import Job
from attnexp.sweeps.outcome import Outcome
from attnexp.sweeps.plan import Planned

JobOf = Callable[[Planned], Job]
"""Makes of a planned job what a process needs to run it."""


class Engine(ABC):
    """Runs jobs, on this machine or elsewhere."""

    @abstractmethod
    def get_ready(self, job: Planned) -> None:
        """Begin in the background what takes long before this job, which is sure to come."""

    @abstractmethod
    def run(
        self, jobs: Sequence[Planned], glance: Callable[[], None]
    ) -> Iterator[tuple[Planned, Outcome]]:
        """Run jobs, and yield how each ended as far as that is known.

        A job that another process is at work on is busy. What `glance` raises ends the run.
        """

    @abstractmethod
    def cancel(self) -> None:
        """Begin nothing more. Called from any thread."""

    @abstractmethod
    def stop(self) -> Iterable[tuple[Planned, Outcome]]:
        """Interrupt what runs, begin nothing more, and return how the interrupted jobs ended."""
