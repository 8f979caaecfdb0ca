"""The executor of a sweep with hydra/launcher=batched."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attnexp.core import console
from attnexp.core.errors import RequestError
from attnexp.runs.settings import leaves
from attnexp.sweeps.job_outcome import JobOutcome
from attnexp.sweeps.launchers.base import JobOf
from attnexp.sweeps.launchers.local import LocalExecutor
from attnexp.sweeps.plan import PlannedJob

MAY_DIFFER = ("model", "data", "optim")
"""The groups of settings whose numbers may differ between replicas."""

SEEDS = ("seed", "data_seed")
"""The settings that are seeds; `data_seed` may be null."""

LEAST = 4
"""The fewest replicas that are worth a worker of their own."""


class BatchedExecutor(LocalExecutor):
    """Trains jobs that differ only in seeds and numbers as replicas of one program.

    A worker process receives up to `size` such jobs at a time. For the number of workers, `n_jobs`,
    see `LocalExecutor`. Groups are split while workers would be idle. Jobs of other shapes are in
    other groups.

    Raises RequestError for a `size` below 1 and an `n_jobs` of 0.
    """

    def __init__(self, job_of: JobOf, size: int, n_jobs: int) -> None:
        super().__init__(job_of, n_jobs)
        if size < 1:
            raise RequestError(f"hydra.launcher.size must be 1 or more, got {size}")
        self._size = size
        self._said: set[str] = set()

    def run(
        self, jobs: Sequence[PlannedJob], on_wait: Callable[[], None]
    ) -> Iterator[tuple[PlannedJob, JobOutcome]]:
        for job, outcome in super().run(jobs, on_wait):
            if outcome.warning is not None and outcome.warning not in self._said:
                self._said.add(outcome.warning)
                console.warn(outcome.warning)
            yield job, outcome

    def _groups(self, jobs: Sequence[PlannedJob]) -> Sequence[Sequence[PlannedJob]]:
        kinds: dict[str, list[PlannedJob]] = {}
        for job in jobs:
            kinds.setdefault(_common(job.settings), []).append(job)
        groups, workers = [], self._worker_count(jobs)
        for kind in kinds.values():
            kind.sort(key=lambda job: _whole_numbers(job.settings))
            parts = max(math.ceil(len(kind) / self._size), min(workers, len(kind) // LEAST))
            share = math.ceil(len(kind) / parts)
            groups += [kind[first : first + share] for first in range(0, len(kind), share)]
        return groups


def _common(settings: Mapping[str, Any]) -> str:
    kept = {path: value for path, value in leaves(settings) if not _may_differ(path, value)}
    return json.dumps(kept, sort_keys=True, default=str)


def _whole_numbers(settings: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the integers that may differ, by which jobs are sorted: equal sizes train together.

    Only the worker, which builds the runs, knows which integers are sizes.
    """
    found = (
        value for path, value in leaves(settings) if path not in SEEDS and _may_differ(path, value)
    )
    return tuple(value if isinstance(value, int) else 0 for value in found)


def _may_differ(path: str, value: Any) -> bool:
    if path in SEEDS:
        return True
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and path.partition(".")[0] in MAY_DIFFER
