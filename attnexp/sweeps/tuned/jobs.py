"""The jobs that tune each configuration, the choice among their means, and the compared jobs."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attnexp.config.schema import import_target
from attnexp.core.errors import RunFailedError
from attnexp.runs.run_status import Status
from attnexp.select.configurations import DATA_SEED
from attnexp.sweeps.objective import means_of
from attnexp.sweeps.overrides import Override
from attnexp.sweeps.plan import Composer, Plan, PlannedJob, plan_of
from attnexp.sweeps.search import Choice, Counts, Search
from attnexp.sweeps.tuned.axes import Case, TunedAxes
from attnexp.sweeps.tuned.settings import TuningSettings

Tried = Mapping[Choice, Sequence[PlannedJob]]
"""Jobs of a configuration by choice of tuned values, one job for each seed."""


@dataclass(frozen=True)
class Tuned:
    """The result of tuning a configuration: the best choice, and the mean metric of every choice.

    A choice that was not measured at all of its seeds has None. `at_end` are the settings whose
    best number is the last one in its direction and better than the one before. `without_effect`
    are the settings whose tried values changed no number of a run.
    """

    metric: str
    best: Choice
    means: Mapping[Choice, float | None]
    at_end: Sequence[str] = ()
    without_effect: Sequence[str] = ()


class TunedJobs:
    """The jobs of a sweep that tunes its configurations. Raises RequestError as `TunedAxes.of`."""

    def __init__(
        self, composer: Composer, arguments: Sequence[str], settings: TuningSettings
    ) -> None:
        self.composer = composer
        self.settings = settings
        self.axes = TunedAxes.of(composer, arguments, settings)
        self._planned: dict[Choice, PlannedJob] = {}

    def tried(self) -> dict[Case, Tried]:
        """Return the tuning jobs, by configuration, and by seed if seeds split a file.

        Which jobs are needed depends on the results so far.
        """
        found: dict[Case, Tried] = {}
        choice = tuple(own[0] for own in self.axes.starts.values())
        for each in itertools.product(*(axis.overrides for axis in self.axes.fixed)):
            first = self._job((each, None), choice, self.axes.seeds[0])
            seeds_split = first.settings[DATA_SEED] is None and _is_of_file(first.settings)
            for split in self.axes.compared if seeds_split else (None,):
                found[each, split] = self._tried((each, split))
        return found

    def _tried(self, case: Case) -> Tried:
        """Return the tuning jobs of a configuration, given the results so far."""
        search = self._search(case)
        counts = search.start()
        if self.settings.beyond or self.settings.finals:
            while have_ended(self._at(case, counts)) and (more := search.more(counts)):
                counts |= more
        return self._at(case, counts)

    def _search(self, case: Case) -> Search:
        axes, settings = self.axes, self.settings
        numbers = [axis.overrides for axis in axes.tuned]
        first, every = len(settings.seeds), len(axes.seeds)
        means = lambda counts: means_of(self._at(case, counts), settings.metric)  # noqa: E731
        return Search([*axes.starts.values()], numbers, first, every, means)

    def _at(self, case: Case, counts: Counts) -> Tried:
        seeds = self.axes.seeds
        return {
            each: [self._job(case, each, seed) for seed in seeds[:count]]
            for each, count in counts.items()
        }

    def _job(self, case: Case, choice: Choice, seed: Override) -> PlannedJob:
        line = self.axes.line(case, choice, seed)
        if line not in self._planned:  # each stage asks for the jobs of those before it
            self._planned[line] = self.composer.planned(self.axes.every, line, len(self._planned))
        return self._planned[line]

    def choose(self, tried: Mapping[Case, Tried]) -> dict[Case, Tuned]:
        """Return the result of tuning for every configuration.

        Of equally good choices the first counts. Raises RunFailedError if no choice of a
        configuration could be measured, and if a tuning run has not ended.
        """
        if not all(map(have_ended, tried.values())):
            raise RunFailedError("runs that tune have not ended: the same command runs them")
        return {case: self._choose(case, own) for case, own in tried.items()}

    def _choose(self, case: Case, tried: Tried) -> Tuned:
        counts, search = {each: len(jobs) for each, jobs in tried.items()}, self._search(case)
        means = search.means(counts)
        best = search.best(counts, means)
        if means.metric is None or best is None:
            label = self.axes.label(case[0])
            raise RunFailedError(f"{label} failed at every value that was tried: {means.error}")
        ends = [name for i, name in enumerate(self.axes.starts) if search.side(i, best, counts)]
        none = [name for i, name in enumerate(self.axes.starts) if _changes_nothing(i, tried)]
        return Tuned(means.metric, best, means.values, ends, none)

    def compared(self, chosen: Mapping[Case, Tuned]) -> dict[Case, Tried]:
        """Return the compared jobs, each at the best choice of its configuration."""
        found: dict[Case, Tried] = {}
        for (each, split), tuned in chosen.items():
            seeds = [split] if split else self.axes.compared
            at_best = [self._job((each, None), tuned.best, seed) for seed in seeds]
            found[each, split] = {tuned.best: at_best}
        return found

    def plan(self, found: Mapping[Case, Tried]) -> Plan:
        """Return the plan of the jobs of all configurations."""
        return plan_of(jobs_in(found.values()), self.composer.rerun)


def jobs_in(found: Iterable[Tried]) -> list[PlannedJob]:
    """Return the jobs of configurations."""
    return [job for tried in found for own in tried.values() for job in own]


def have_ended(tried: Tried) -> bool:
    """Return whether all runs that tune a configuration have finished or failed."""
    return all(map(has_ended, jobs_in([tried])))


def has_ended(job: PlannedJob) -> bool:
    """Return whether a run has finished or failed."""
    return job.refreshed().found.status in (Status.FINISHED, Status.FAILED)


def _is_of_file(settings: Mapping[str, Any]) -> bool:
    """Return whether the data are rows of one file, which a seed splits."""
    data: Any = import_target(settings["data"], "data")
    splits_rows = getattr(data, "splits_rows", False) is True
    return splits_rows and data.fixed_by(settings["data"]) is None


def _changes_nothing(place: int, tried: Tried) -> bool:
    """Return whether all runs that differ only in one tuned value have equal metrics."""
    found: dict[tuple[Choice, Any], list[Mapping[str, float | None]]] = {}
    for choice, jobs in tried.items():
        for job in jobs:
            summary = job.refreshed().found.summary
            if summary is None or summary.status is not Status.FINISHED:
                return False
            others = (*choice[:place], *choice[place + 1 :])
            found.setdefault((others, summary.seed), []).append(summary.metrics)
    return all(each == own[0] for own in found.values() for each in own)
