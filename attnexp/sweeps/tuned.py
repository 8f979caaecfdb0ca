"""A sweep that tunes settings of each configuration before it compares them.

A configuration is a combination of everything that the sweep varies except the seed. Each one is
tried at all values of the tuned settings, at seeds that are not compared, so that all have the same
budget. The values with the best mean of the metric that the task selects by, which does not use the
test set, are then run at the seeds of the sweep. All runs are jobs with folders of their own, so
the same command continues where an interrupted one ended.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
from rich.markup import escape

from attnexp.config.schema import import_target
from attnexp.core import console
from attnexp.core.errors import RequestError, RunFailedError, refusal
from attnexp.runs import lock
from attnexp.runs.redaction import masked
from attnexp.runs.run_status import Status
from attnexp.runs.summary import Tuning, record_tuning
from attnexp.select.configurations import DATA_SEED
from attnexp.select.number import metric_of
from attnexp.sweeps.objective import NotMeasuredError, finished, mean_of, selection_of
from attnexp.sweeps.overrides import Axis, Override, expand
from attnexp.sweeps.plan import Composer, Plan, PlannedJob, plan_of, require_places
from attnexp.sweeps.printed import show_notes, show_plan, warn_of_code
from attnexp.sweeps.schedule import choose_executor, run_compared, run_plan

SEED = "seed"

FEW = 3
"""The number of values from which a best one at their end is worth a warning."""

Choice = tuple[Override, ...]
"""An override for each of several axes, in their order."""

Case = tuple[Choice, Override | None]
"""A configuration, and the compared seed on whose split of a file it is tuned; None for all."""

Tried = Mapping[Choice, Sequence[PlannedJob]]
"""The jobs that tune a configuration, by the tuned values: one for each seed."""

OWN_DATA = Override(f"{DATA_SEED}=null", (None,))
"""The data of the run's own seed."""


@dataclass(frozen=True)
class Tuned:
    """The result of tuning a configuration: the best choice, and the mean metric of every choice.

    A choice that could not be measured at each of the seeds has None.
    """

    metric: str
    best: Choice
    means: Mapping[Choice, float | None]


def tuned_sweep(jobs: "TunedJobs", max_batch_size: int | None, dry_run: bool) -> None:
    """Tune every configuration, then run it at the compared seeds.

    With `dry_run` only the plan is shown. Raises RunFailedError if a job failed.
    """
    composer, tried = jobs.composer, jobs.tried()
    tuning_runs = [job for own in tried.values() for at_choice in own.values() for job in at_choice]
    plan = plan_of(tuning_runs, composer.rerun)
    show_notes(plan)
    warn_of_code(plan)
    count = len(jobs.configurations)
    named = f"{count} configuration{'s' if count > 1 else ''}"
    console.say(f"tuning {' and '.join(jobs.names)}: {len(tuning_runs)} runs for {named}")
    if dry_run:
        show_plan(plan)
        if plan.to_do:
            compared = len(jobs.compared_seeds)
            console.say(f"then {named}, each at its best values, with {compared} seeds")
        else:
            show_plan(jobs.compared(jobs.choose(tried)))
        return
    require_places(plan)
    executor = choose_executor(composer, partial(composer.job, jobs.axes), max_batch_size)
    try:
        try:
            run_plan(composer, plan, executor, fail_fast=False)
        except RunFailedError:
            ended = (Status.FINISHED, Status.FAILED)
            if any(job.refreshed().found.status not in ended for job in tuning_runs):
                raise
        chosen = jobs.choose(tried)
        jobs.show(chosen)
        _record(tuning_runs, jobs.tuning(chosen, tuning_run=True))
        plan = jobs.compared(chosen)
        show_notes(plan)
        mark = partial(_record, plan.jobs, jobs.tuning(chosen, tuning_run=False))
        run_compared(composer, plan, executor, mark)
    finally:
        executor.stop()


class TunedJobs:
    """The jobs of a sweep that tunes its configurations, those of the arguments.

    `tune` are the tuned settings as `name=values`, `seeds` those of the tuning runs. If `metric`
    is None, it is the task's metric for selection, which does not use the test set.

    Raises RequestError if there is nothing to tune, or if a seed would both tune and be compared.
    """

    def __init__(
        self,
        composer: Composer,
        arguments: Sequence[str],
        tune: Sequence[str],
        seeds: str,
        metric: str | None,
    ) -> None:
        self.composer = composer
        self._metric = metric
        self._numbers = itertools.count()
        parsed = composer.parse([*tune, *arguments])
        overrides = {name: expand(each) for name, each in parsed.items()}
        seed = composer.config.seed
        self.compared_seeds = overrides.pop(SEED, (Override(f"{SEED}={seed}", (seed,)),))
        self.tuning_seeds = expand(composer.parse([f"{SEED}={seeds}"])[SEED])
        shared = {each.text for each in self.compared_seeds}.intersection(
            each.text for each in self.tuning_seeds
        )
        if shared:
            raise RequestError(
                f"{', '.join(sorted(shared))} would both tune and be compared: choose other seeds "
                "with hydra.sweeper.seeds"
            )
        self.names = [name for name in composer.parse(tune) if len(overrides[name]) > 1]
        if not self.names:
            raise RequestError(
                "there is nothing to tune: give a setting several values, as in "
                "'hydra.sweeper.tune=[\"optim.lr=0.001,0.01\"]', or choose hydra/sweeper=attnexp"
            )
        both = (*self.compared_seeds, *self.tuning_seeds)
        # Where data_seed is not given, tuning runs may take that of a compared seed.
        splits = (OWN_DATA, *(_data_of(seed) for seed in self.compared_seeds))
        self.axes = composer.axes_of({DATA_SEED: splits, **overrides, SEED: both})
        apart = (*self.names, SEED, *(() if DATA_SEED in overrides else (DATA_SEED,)))
        self._tuned = [axis for axis in self.axes if axis.name in self.names]
        self._fixed = [axis for axis in self.axes if axis.name not in apart]
        self._choices = list(itertools.product(*(axis.overrides for axis in self._tuned)))
        self.configurations = list(itertools.product(*(axis.overrides for axis in self._fixed)))

    def tried(self) -> dict[Case, Tried]:
        """Return the jobs that tune, by configuration, and by seed if seeds split a file."""
        found: dict[Case, Tried] = {}
        for each in self.configurations:
            (first, *_) = self._jobs(each, self._choices[0], self.tuning_seeds[:1])
            seeds_split = first.settings[DATA_SEED] is None and _is_of_file(first.settings)
            splits = self.compared_seeds if seeds_split else (None,)
            for split in splits:
                data = OWN_DATA if split is None else _data_of(split)
                found[each, split] = {
                    choice: list(self._jobs(each, choice, self.tuning_seeds, data))
                    for choice in self._choices
                }
        return found

    def compared(self, chosen: Mapping[Case, Tuned]) -> Plan:
        """Return the plan of the compared jobs, each at the best choice of its configuration."""
        jobs = [
            job
            for (configuration, split), tuned in chosen.items()
            for job in self._jobs(
                configuration, tuned.best, self.compared_seeds if split is None else (split,)
            )
        ]
        return plan_of(jobs, self.composer.rerun)

    def choose(self, tried: Mapping[Case, Tried]) -> dict[Case, Tuned]:
        """Return the result of tuning for every configuration.

        Of equally good choices the first counts. Raises RunFailedError if no choice of a
        configuration could be measured.
        """
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
            cells += map(_value, tuned.best)
            reached = console.number_text(tuned.means[tuned.best])
            table.add_row(*map(escape, cells), reached, str(failed or ""))
        console.out.print(table)
        beyond = [
            f"{self._label(configuration)}: the best {axis.name}, {_value(tuned.best[place])}, is "
            "the last one tried in its direction: a better one may lie beyond"
            for (configuration, _), tuned in chosen.items()
            for place, axis in enumerate(self._tuned)
            if _at_end(axis, place, tuned)
        ]
        for sentence in dict.fromkeys(beyond):
            console.warn(sentence)

    def tuning(self, chosen: Mapping[Case, Tuned], tuning_run: bool) -> Tuning:
        """Return the record of how the settings were chosen."""
        metric = next(iter(chosen.values())).metric
        values = {axis.name: [_value(each) for each in axis.overrides] for axis in self._tuned}
        by_split = any(split is not None for _, split in chosen)
        seeds = [int(_value(seed)) for seed in self.tuning_seeds]
        return Tuning(values, metric, seeds, tuning_run, by_split)

    def _choose(self, label: str, tried: Tried) -> Tuned:
        means: dict[Choice, float | None] = {}
        metric, better, error = self._metric, "lower", ""
        for choice, jobs in tried.items():
            try:
                metric = metric or selection_of(jobs[0])
                means[choice] = mean_of(jobs, metric)
                better = finished(jobs[0]).better.get(metric_of(metric), better)
            except NotMeasuredError as reason:
                means[choice], error = None, str(reason)
        measured = {choice: mean for choice, mean in means.items() if mean is not None}
        if metric is None or not measured:
            raise RunFailedError(f"{label} failed at every value that was tried: {error}")
        best = (max if better == "higher" else min)(measured, key=measured.__getitem__)
        return Tuned(metric, best, means)

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
            line = [given.get(axis.name, seed) for axis in self.axes]
            yield self.composer.planned(self.axes, line, next(self._numbers))


def _is_of_file(settings: Mapping[str, Any]) -> bool:
    """Return whether the data are rows of one file, which a seed splits."""
    return getattr(import_target(settings["data"], "data"), "splits_rows", False) is True


def _data_of(seed: Override) -> Override:
    return Override(f"{DATA_SEED}={_value(seed)}", seed.value)


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
                by_split = tuning.by_split and _is_of_file(job.settings)
                record_tuning(job.folder, msgspec.structs.replace(tuning, by_split=by_split))
        except OSError as error:
            console.warn(f"{job.folder} cannot be marked as tuned: {refusal(error)}")


def _value(override: Override) -> str:
    """Return the value of an override as on the command line, unless it is a secret."""
    text: str = masked(override.text)
    return text.partition("=")[2]


def _at_end(axis: Axis, place: int, tuned: Tuned) -> bool:
    """Return whether the best value is the smallest or largest of several numbers that differ."""
    numbers = {each: each.value[0] for each in axis.overrides if each.value is not None}
    if len(numbers) < FEW or any(isinstance(n, str | bool | None) for n in numbers.values()):
        return False
    order = sorted(numbers, key=numbers.__getitem__)
    best = tuned.best[place]
    if best not in (order[0], order[-1]):
        return False
    neighbour = order[1] if best == order[0] else order[-2]
    other = (*tuned.best[:place], neighbour, *tuned.best[place + 1 :])
    return tuned.means[other] != tuned.means[tuned.best]
