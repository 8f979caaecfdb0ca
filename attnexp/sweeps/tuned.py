"""A sweep that tunes settings of each configuration before it compares them.

A configuration is a combination of everything that the sweep varies except the seed. Each one is
tried at all values of the tuned settings, at seeds that are not compared. As long as the best
number is the last one in its direction, the next may be tried. The two best may be tried at further
seeds, and as long as the best over all seeds is the last one in its direction, the next at all of
them: the same procedure for all. The values with the best mean of a metric that does not use the
test set are then run at the seeds of the sweep. All runs are jobs with folders of their
own, so the same command continues where an interrupted one ended.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.markup import escape

from attnexp.config.schema import import_target
from attnexp.core import console
from attnexp.core.errors import MachineError, RequestError, RunFailedError, refusal
from attnexp.runs import lock
from attnexp.runs.run_status import Status
from attnexp.runs.summary import Tuning, record_tuning
from attnexp.select.configurations import DATA_SEED
from attnexp.select.number import metric_of
from attnexp.sweeps.launchers.base import Executor
from attnexp.sweeps.objective import NotMeasuredError, finished, mean_of, selection_of
from attnexp.sweeps.overrides import Override, expand
from attnexp.sweeps.plan import Composer, Plan, PlannedJob, plan_of, require_places
from attnexp.sweeps.printed import show_notes, show_plan, warn_of_code
from attnexp.sweeps.schedule import choose_executor, require_fit, run_compared, run_plan
from attnexp.sweeps.search import FEW, Choice, Counts, Means, Search, number, numbers_beyond
from attnexp.sweeps.tuned_settings import EXAMPLE, SEED, TuningSettings

Case = tuple[Choice, Override | None]
"""A configuration, and the compared seed on whose split of a file it is tuned; None for all."""

Tried = Mapping[Choice, Sequence[PlannedJob]]
"""The jobs that tune a configuration, by the tuned values: one for each seed."""

OWN_DATA = Override(f"{DATA_SEED}=null", (None,))
"""The data of the run's own seed."""


@dataclass(frozen=True)
class Tuned:
    """The result of tuning a configuration: the best choice, and the mean metric of every choice.

    A choice that could not be measured at each of its seeds has None. `at_end` are the settings
    whose best number is the last one in its direction, though the one next to it is not as good.
    `without_effect` are those of which no value that was tried changed any number of a run.
    """

    metric: str
    best: Choice
    means: Mapping[Choice, float | None]
    at_end: Sequence[str] = ()
    without_effect: Sequence[str] = ()


def tuned_sweep(jobs: "TunedJobs", max_batch_size: int | None, dry_run: bool) -> None:
    """Tune every configuration, then run it at the compared seeds.

    With `dry_run` only the plan is shown. Raises RunFailedError if a job failed.
    """
    composer, tried = jobs.composer, jobs.tried()
    tuning_runs = _all(tried)
    plan = plan_of(tuning_runs, composer.rerun)
    show_notes(plan)
    warn_of_code(plan)
    count = len(jobs.configurations)
    named = console.count_text(count, "configuration")
    console.print_line(f"tuning {' and '.join(jobs.names)}: {len(tuning_runs)} runs for {named}")
    if dry_run:
        require_fit(composer, plan, partial(composer.job, jobs.axes))
        show_plan(plan)
        if plan.to_do:
            seeds = len(jobs.compared_seeds)
            console.print_line(f"then {named}, each at its best values, with {seeds} seeds")
        else:
            show_plan(jobs.plan(jobs.compared(jobs.choose(tried))))
        return
    require_places(plan)
    executor = choose_executor(composer, partial(composer.job, jobs.axes), max_batch_size)
    try:
        tried = _run_tuning(jobs, plan, executor)
        chosen = jobs.choose(tried)
        jobs.show(chosen)
        for case, at in tried.items():
            _record(_all({case: at}), jobs.tuning(case, chosen[case], tuning_run=True))
        compared = jobs.compared(chosen)
        plan = jobs.plan(compared)
        show_notes(plan)

        def mark() -> None:
            for case, own in compared.items():
                _record(own, jobs.tuning(case, chosen[case], tuning_run=False))

        run_compared(composer, plan, executor, mark)
    finally:
        executor.stop()


def _run_tuning(jobs: "TunedJobs", plan: Plan, executor: Executor) -> dict[Case, Tried]:
    """Run the jobs that tune, then those that their results ask for, and return all of them."""
    composer, known = jobs.composer, set[Path]()
    while True:
        try:
            run_plan(composer, plan, executor, fail_fast=False)
        except RunFailedError as error:
            if isinstance(error, MachineError) or not all(map(_has_ended, plan.jobs)):
                raise
        known |= {job.folder for job in plan.jobs}
        tried = jobs.tried()
        further = [job for job in _all(tried) if job.folder not in known]
        if not further:
            return tried
        plan = plan_of(further, composer.rerun)
        console.print_line(f"tuning goes on with {console.count_text(len(plan.jobs), 'run')}")


class TunedJobs:
    """The jobs of a sweep that tunes its configurations, those of the arguments.

    Raises RequestError if there is nothing to tune, if a seed would both tune and be compared, and
    for `beyond` without positive numbers.
    """

    def __init__(
        self,
        composer: Composer,
        arguments: Sequence[str],
        settings: TuningSettings,
    ) -> None:
        tune, beyond = settings.tune, settings.beyond
        self.composer = composer
        self._metric = settings.metric
        self._beyond = beyond
        self._job_numbers = itertools.count()
        self._planned: dict[Choice, PlannedJob] = {}
        parsed = composer.parse([*tune, *arguments])
        overrides = {name: expand(each) for name, each in parsed.items()}
        self.compared_seeds = overrides.pop(SEED, _seeds([composer.config.seed]))
        self.tuning_seeds = _seeds(settings.seeds)
        self.final_seeds = _seeds(settings.finals)
        self._seeds = (*self.tuning_seeds, *self.final_seeds)
        _require_apart(self._seeds, self.compared_seeds)
        self.names = [name for name in composer.parse(tune) if len(overrides[name]) > 1]
        if not self.names:
            raise RequestError(
                f"there is nothing to tune: give a setting several values, as in {EXAMPLE}, or "
                "choose hydra/sweeper=attnexp"
            )
        starts = {name: overrides[name] for name in self.names}
        further = {name: _further(name, own, beyond) for name, own in starts.items()}
        if beyond and not any(further.values()):
            raise RequestError(
                f"hydra.sweeper.beyond={beyond} needs {FEW} positive numbers or more of a tuned "
                f"setting, not all of them whole, got {' '.join(tune)}"
            )
        overrides |= {name: (*own, *further[name]) for name, own in starts.items()}
        every = (*self.compared_seeds, *self._seeds)
        # Where data_seed is not given, tuning runs may take that of a compared seed.
        splits = (OWN_DATA, *(_data_of(seed) for seed in self.compared_seeds))
        self.axes = composer.axes_of({DATA_SEED: splits, **overrides, SEED: every})
        apart = (*self.names, SEED, *(() if DATA_SEED in overrides else (DATA_SEED,)))
        self._tuned = [axis for axis in self.axes if axis.name in self.names]
        self._fixed = [axis for axis in self.axes if axis.name not in apart]
        self._starts = [starts[axis.name] for axis in self._tuned]
        self.configurations = list(itertools.product(*(axis.overrides for axis in self._fixed)))

    def tried(self) -> dict[Case, Tried]:
        """Return the jobs that tune, by configuration, and by seed if seeds split a file.

        Which jobs are needed depends on the results of those that have ended.
        """
        found: dict[Case, Tried] = {}
        choice = tuple(own[0] for own in self._starts)
        for each in self.configurations:
            first = next(self._jobs(each, choice, self.tuning_seeds))
            seeds_split = first.settings[DATA_SEED] is None and _is_of_file(first.settings)
            splits = self.compared_seeds if seeds_split else (None,)
            for split in splits:
                data = OWN_DATA if split is None else _data_of(split)
                found[each, split] = self._search(partial(self._jobs, each, data=data))
        return found

    def _search(self, jobs: Callable[[Choice, Sequence[Override]], Iterable[PlannedJob]]) -> Tried:
        """Return the jobs that tune a configuration, by the results of those that have ended."""

        def tried(counts: Counts) -> Tried:
            return {each: list(jobs(each, self._seeds[:count])) for each, count in counts.items()}

        search = self._search_of(tried)
        counts = search.start()
        if self._beyond or self.final_seeds:
            while _have_ended(tried(counts)) and (more := search.more(counts)):
                counts |= more
        return tried(counts)

    def _search_of(self, tried: Callable[[Counts], Tried]) -> Search:
        numbers = [axis.overrides for axis in self._tuned]
        first, every = len(self.tuning_seeds), len(self._seeds)
        return Search(self._starts, numbers, first, every, lambda few: self._means(tried(few)))

    def compared(self, chosen: Mapping[Case, Tuned]) -> dict[Case, list[PlannedJob]]:
        """Return the compared jobs, each at the best choice of its configuration."""
        return {
            (configuration, split): list(
                self._jobs(
                    configuration, tuned.best, self.compared_seeds if split is None else (split,)
                )
            )
            for (configuration, split), tuned in chosen.items()
        }

    def plan(self, compared: Mapping[Case, Sequence[PlannedJob]]) -> Plan:
        """Return the plan of the compared jobs."""
        return plan_of([job for own in compared.values() for job in own], self.composer.rerun)

    def choose(self, tried: Mapping[Case, Tried]) -> dict[Case, Tuned]:
        """Return the result of tuning for every configuration.

        Of equally good choices the first counts. Raises RunFailedError if no choice of a
        configuration could be measured, and if a run that tunes has not ended.
        """
        if not all(map(_have_ended, tried.values())):
            raise RunFailedError("runs that tune have not ended: the same command runs them")
        return {each: self._choose(self._label(each[0]), own) for each, own in tried.items()}

    def show(self, chosen: Mapping[Case, Tuned]) -> None:
        """Show the choice of every configuration, and warn of those at the end of their values."""
        varying = [i for i, axis in enumerate(self._fixed) if len(axis.overrides) > 1]
        metric = next(iter(chosen.values())).metric
        by_split = any(split is not None for _, split in chosen)
        titles = [
            *(self._fixed[i].name for i in varying),
            *([SEED] if by_split else []),
            *self.names,
            metric,
            "failed",
        ]
        table = console.plain_table(titles, right=[metric, "failed"])
        for (configuration, split), tuned in chosen.items():
            failed = sum(mean is None for mean in tuned.means.values())
            cells = [_value(configuration[i]) for i in varying]
            cells += [_value(split) if split else ""] if by_split else []
            cells += [
                "no effect" if axis.name in tuned.without_effect else _value(each)
                for axis, each in zip(self._tuned, tuned.best, strict=True)
            ]
            reached = console.number_text(tuned.means[tuned.best])
            table.add_row(*map(escape, cells), reached, str(failed or ""))
        console.screen.out.print(table)
        beyond = [
            f"{self._label(configuration)}: the best {axis.name}, {_value(tuned.best[place])}, is "
            "the last one tried in its direction: a better one may lie beyond"
            for (configuration, _), tuned in chosen.items()
            for place, axis in enumerate(self._tuned)
            if axis.name in tuned.at_end
        ]
        for sentence in dict.fromkeys(beyond):
            console.warn(sentence)

    def tuning(self, case: Case, tuned: Tuned, tuning_run: bool) -> Tuning:
        """Return the record of how the settings of a configuration were chosen."""
        return Tuning(
            {
                axis.name: [_value(each) for each in own]
                for axis, own in zip(self._tuned, self._starts, strict=True)
            },
            tuned.metric,
            [int(_value(seed)) for seed in self.tuning_seeds],
            tuning_run,
            by_split=case[1] is not None,
            beyond=self._beyond,
            finals=[int(_value(seed)) for seed in self.final_seeds],
            at_end=list(tuned.at_end),
        )

    def _choose(self, label: str, tried: Tried) -> Tuned:
        counts, means = {each: len(jobs) for each, jobs in tried.items()}, self._means(tried)
        search = self._search_of(lambda few: {each: tried[each][:n] for each, n in few.items()})
        best = search.best(counts, means)
        if means.metric is None or best is None:
            raise RunFailedError(f"{label} failed at every value that was tried: {means.error}")
        ends = [axis.name for i, axis in enumerate(self._tuned) if search.side(i, best, counts)]
        none = [axis.name for i, axis in enumerate(self._tuned) if _changes_nothing(i, tried)]
        return Tuned(means.metric, best, means.values, ends, none)

    def _means(self, tried: Tried) -> Means:
        """Return the means of the choices that are tried."""
        values: dict[Choice, float | None] = {}
        ties: dict[Choice, float] = {}
        metric, higher, higher_ties, error = self._metric, False, False, ""
        for choice, jobs in tried.items():
            try:
                metric = metric or selection_of(jobs[0])
                values[choice] = mean_of(jobs, metric)
                better = finished(jobs[0]).better
                higher = better.get(metric_of(metric)) == "higher"
                if self._metric is not None:
                    own = selection_of(jobs[0])
                    ties[choice] = mean_of(jobs, own)
                    higher_ties = better.get(own) == "higher"
            except NotMeasuredError as reason:
                values.setdefault(choice, None)
                error = str(reason)
        return Means(metric, higher, values, ties, higher_ties, error)

    def _label(self, configuration: Choice) -> str:
        varying = zip(self._fixed, configuration, strict=True)
        words = [override.text for axis, override in varying if len(axis.overrides) > 1]
        return " ".join(words) or "this configuration"

    def _jobs(
        self,
        configuration: Choice,
        choice: Choice,
        seeds: Sequence[Override],
        data: Override = OWN_DATA,
    ) -> Iterator[PlannedJob]:
        given = {DATA_SEED: data}
        given |= {axis.name: each for axis, each in zip(self._fixed, configuration, strict=True)}
        given |= {axis.name: each for axis, each in zip(self._tuned, choice, strict=True)}
        for seed in seeds:
            line = tuple(given.get(axis.name, seed) for axis in self.axes)
            if line not in self._planned:  # each stage asks for the jobs of those before it
                job = self.composer.planned(self.axes, line, next(self._job_numbers))
                self._planned[line] = job
            yield self._planned[line]


def _require_apart(tuning: Sequence[Override], compared: Sequence[Override]) -> None:
    """Raise RequestError for a seed that would both tune and be compared."""
    if shared := {each.text for each in compared} & {each.text for each in tuning}:
        raise RequestError(
            f"{', '.join(sorted(shared))} would both tune and be compared: choose other seeds "
            "with hydra.sweeper.seeds"
        )


def _is_of_file(settings: Mapping[str, Any]) -> bool:
    """Return whether the data are rows of one file, which a seed splits."""
    data: Any = import_target(settings["data"], "data")
    splits_rows = getattr(data, "splits_rows", False) is True
    return splits_rows and data.fixed_by(settings["data"]) is None


def _data_of(seed: Override) -> Override:
    return Override(f"{DATA_SEED}={_value(seed)}", seed.value)


def _seeds(seeds: Sequence[int]) -> tuple[Override, ...]:
    return tuple(Override(f"{SEED}={seed}", (seed,)) for seed in seeds)


def _all(tried: Mapping[Case, Tried]) -> list[PlannedJob]:
    return [job for own in tried.values() for at_choice in own.values() for job in at_choice]


def _changes_nothing(place: int, tried: Tried) -> bool:
    """Return whether runs that differ in one tuned value alone have the same numbers throughout."""
    found: dict[tuple[Choice, Any], list[Mapping[str, float | None]]] = {}
    for choice, jobs in tried.items():
        for job in jobs:
            summary = job.refreshed().found.summary
            if summary is None or summary.status is not Status.FINISHED:
                return False
            others = (*choice[:place], *choice[place + 1 :])
            found.setdefault((others, summary.seed), []).append(summary.metrics)
    return all(each == own[0] for own in found.values() for each in own)


def _have_ended(tried: Tried) -> bool:
    return all(_has_ended(job) for own in tried.values() for job in own)


def _has_ended(job: PlannedJob) -> bool:
    return job.refreshed().found.status in (Status.FINISHED, Status.FAILED)


def _record(jobs: Iterable[PlannedJob], tuning: Tuning) -> None:
    """Add to the finished runs how their settings were chosen.

    A run that was compared by another sweep remains one.
    """
    for job in jobs:
        found = job.refreshed().found
        if found.status is not Status.FINISHED or found.summary is None:
            continue
        if tuning.tuning_run and found.summary.tuning and not found.summary.tuning.tuning_run:
            continue
        try:
            with lock.hold(job.folder, on_busy=lambda _: None):
                record_tuning(job.folder, tuning)
        except OSError as error:
            console.warn(f"{job.folder} cannot be marked as tuned: {refusal(error)}")


def _value(override: Override) -> str:
    """Return the value of an override as on the command line."""
    return override.text.partition("=")[2]


def _further(name: str, given: Sequence[Override], beyond: int) -> list[Override]:
    """Return the overrides beyond those given."""
    numbers = numbers_beyond([*map(number, given)], beyond)
    return [Override(f"{name}={each:g}", (each,)) for each in numbers]
