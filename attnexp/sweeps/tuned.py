"""A sweep that tunes settings of each configuration before it compares them.

A configuration is a combination of everything that the sweep varies except the seed. Each one is
tried at all values of the tuned settings, at seeds that are not compared, so that all have the same
budget. The values with the best mean of the metric that the task selects by, which does not see the
test set, are then run at the seeds of the sweep. All runs are jobs with folders of their own, so
the same command continues where an interrupted one ended.
"""

import itertools
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from rich.markup import escape

from attnexp import console
from attnexp.errors import RequestError, RunFailedError, refusal
from attnexp.redaction import recorded
from attnexp.runs import lock
from attnexp.runs.summary import Tuning, record_tuning
from attnexp.sweeps.executors.base import Executor, JobOf
from attnexp.sweeps.executors.workers import WorkersExecutor
from attnexp.sweeps.measure import NotMeasuredError, finished, selection_of, value_of
from attnexp.sweeps.multirun import (
    choose_executor,
    run_plan,
    show_results,
    submit_and_leave,
)
from attnexp.sweeps.overrides import Axis, Override, expand
from attnexp.sweeps.plan import Composer, Plan, PlannedJob, plan_of, require_places
from attnexp.sweeps.summary import show_plan, show_remarks

SEED = "seed"

FEW = 3
"""The number of values from which a best one at their end is worth a remark."""

Choice = tuple[Override, ...]
"""An override for each of several axes, in their order."""


@dataclass(frozen=True)
class TuneSettings:
    """The tuned settings as `name=values`, and the values of the trials' seeds.

    If `metric` is None, it is the task's metric for selection, which does not use the test set.
    """

    tune: Sequence[str]
    seeds: str
    metric: str | None


@dataclass(frozen=True)
class Tuned:
    """What tuning found for a configuration: the best choice, and the mean metric of every choice.

    A choice that could not be measured at each of the seeds has None.
    """

    metric: str
    best: Choice
    means: Mapping[Choice, float | None]


def tuned_sweep(
    composer: Composer,
    arguments: Sequence[str],
    settings: TuneSettings,
    max_batch_size: int | None,
    dry_run: bool,
) -> None:
    """Tune every configuration of the arguments, then run it at the seeds of the arguments.

    With `dry_run` only the plan is shown. Raises RequestError where there is nothing to tune and
    where a seed would both tune and compare, and RunFailedError where a job failed.
    """
    jobs = TunedJobs(composer, arguments, settings)
    rerun = composer.rerun
    trials = jobs.trials()
    tried = list(itertools.chain.from_iterable(trials.values()))
    plan = plan_of(tried, jobs.num_trials, rerun)
    show_remarks(plan)
    count = len(jobs.configurations)
    named = f"{count} configuration{'s' if count > 1 else ''}"
    console.say(f"tuning {' and '.join(jobs.names)}: {jobs.num_trials} runs for {named}")
    if dry_run:
        show_plan(plan)
        if plan.to_do:
            seeds = len(jobs.compared_seeds)
            console.say(f"then {named}, each at its best values, with {seeds} seeds")
        else:
            show_plan(plan_of(jobs.compared(jobs.choose(trials)), jobs.num_compared, rerun))
        return
    require_places(plan)
    job_of = partial(composer.job, jobs.axes)
    executor = choose_executor(composer, job_of, max_batch_size)
    if isinstance(executor, WorkersExecutor) and executor.detach:
        if not plan.to_do:
            plan = plan_of(jobs.compared(jobs.choose(trials)), jobs.num_compared, rerun)
        submit_and_leave(composer, plan, executor)
        return
    try:
        try:
            _run(composer, plan, executor, job_of, fail_fast=False)
        except RunFailedError as error:
            _check_ended(tried, error)
        chosen = jobs.choose(trials)
        jobs.show(chosen)
        metric = next(iter(chosen.values())).metric
        _record(tried, jobs.tuning(metric, trial=True))
        plan = plan_of(jobs.compared(chosen), jobs.num_compared, rerun)
        show_remarks(plan)
        try:
            _run(composer, plan, executor, job_of, composer.config.fail_fast)
        except RunFailedError:
            _finish(composer, plan, jobs.tuning(metric, trial=False))
            raise
        except KeyboardInterrupt:
            _record(plan.jobs, jobs.tuning(metric, trial=False))
            raise
        _finish(composer, plan, jobs.tuning(metric, trial=False))
    finally:
        executor.stop()


class TunedJobs:
    """The jobs of a sweep that tunes its configurations.

    Raises RequestError where there is nothing to tune, and where a seed would both tune and be
    compared.
    """

    def __init__(
        self, composer: Composer, arguments: Sequence[str], settings: TuneSettings
    ) -> None:
        self._composer = composer
        self._metric = settings.metric
        self._numbers = itertools.count()
        parsed = composer.parse([*settings.tune, *arguments])
        overrides = {name: expand(each) for name, each in parsed.items()}
        seed = composer.config.seed
        self.compared_seeds = overrides.pop(SEED, (Override(f"{SEED}={seed}", (seed,)),))
        self.trial_seeds = expand(composer.parse([f"{SEED}={settings.seeds}"])[SEED])
        both = {each.text for each in self.compared_seeds} & {one.text for one in self.trial_seeds}
        if both:
            raise RequestError(
                f"{', '.join(sorted(both))} would both tune and be compared: choose other seeds "
                "with hydra.sweeper.seeds"
            )
        asked = composer.parse(settings.tune)
        self.names = [name for name in asked if len(overrides[name]) > 1]
        if not self.names:
            raise RequestError(
                "there is nothing to tune: give a setting several values, as in "
                "'hydra.sweeper.tune=[\"optim.lr=0.001,0.01\"]', or choose hydra/sweeper=attnexp"
            )
        seeds = (*self.compared_seeds, *self.trial_seeds)
        self.axes = composer.axes_of({**overrides, SEED: seeds})
        self._tuned = [axis for axis in self.axes if axis.name in self.names]
        self._fixed = [
            axis for axis in self.axes if axis.name not in self.names and axis.path != SEED
        ]
        self.configurations = list(itertools.product(*(axis.overrides for axis in self._fixed)))
        self._choices = list(itertools.product(*(axis.overrides for axis in self._tuned)))

    @property
    def num_trials(self) -> int:
        """The number of runs that tune."""
        return len(self.configurations) * len(self._choices) * len(self.trial_seeds)

    @property
    def num_compared(self) -> int:
        """The number of runs that are compared."""
        return len(self.configurations) * len(self.compared_seeds)

    def trials(self) -> dict[tuple[Choice, Choice], list[PlannedJob]]:
        """Return the jobs that tune, by configuration and choice, one for each trial seed."""
        pairs = itertools.product(self.configurations, self._choices)
        return {pair: self._jobs(*pair, self.trial_seeds) for pair in pairs}

    def compared(self, chosen: Mapping[Choice, Tuned]) -> Iterable[PlannedJob]:
        """Yield the jobs that are compared, each at the best choice of its configuration."""
        for configuration, tuned in chosen.items():
            yield from self._jobs(configuration, tuned.best, self.compared_seeds)

    def choose(
        self, trials: Mapping[tuple[Choice, Choice], Sequence[PlannedJob]]
    ) -> dict[Choice, Tuned]:
        """Return what tuning found for every configuration.

        Of equally good choices the first counts. Raises RunFailedError where no choice of a
        configuration could be measured.
        """
        return {each: self._choose(each, trials) for each in self.configurations}

    def show(self, chosen: Mapping[Choice, Tuned]) -> None:
        """Show the choice of every configuration, and name those at the end of their values."""
        varying = [i for i, axis in enumerate(self._fixed) if len(axis.overrides) > 1]
        metric = next(iter(chosen.values())).metric
        titles = [*(self._fixed[i].name for i in varying), *self.names, metric, "failed"]
        table = console.plain_table(titles, right=[metric, "failed"])
        for configuration, tuned in chosen.items():
            failed = sum(mean is None for mean in tuned.means.values())
            cells = [_value(configuration[i]) for i in varying] + list(map(_value, tuned.best))
            reached = console.number_text(tuned.means[tuned.best])
            table.add_row(*map(escape, cells), reached, str(failed or ""))
        console.out.print(table)
        for configuration, tuned in chosen.items():
            label = " ".join(configuration[i].text for i in varying) or "this configuration"
            for place, axis in enumerate(self._tuned):
                if _at_end(axis, place, tuned):
                    console.warn(
                        f"{label}: the best {axis.name}, {_value(tuned.best[place])}, is the last "
                        "one tried in its direction: a better one may lie beyond"
                    )

    def tuning(self, metric: str, trial: bool) -> Tuning:
        """Return the record of how the settings were chosen."""
        values = {axis.name: [_value(each) for each in axis.overrides] for axis in self._tuned}
        return Tuning(values, metric, [int(_value(seed)) for seed in self.trial_seeds], trial)

    def _choose(
        self,
        configuration: Choice,
        trials: Mapping[tuple[Choice, Choice], Sequence[PlannedJob]],
    ) -> Tuned:
        means: dict[Choice, float | None] = {}
        metric, better, error = self._metric, "lower", ""
        for choice in self._choices:
            try:
                summaries = [finished(job) for job in trials[configuration, choice]]
                metric = metric or selection_of(summaries[0])
                means[choice] = statistics.fmean(value_of(each, metric) for each in summaries)
                better = summaries[0].better.get(metric, better)
            except NotMeasuredError as reason:
                means[choice], error = None, str(reason)
        measured = {choice: mean for choice, mean in means.items() if mean is not None}
        if metric is None or not measured:
            label = " ".join(each.text for each in configuration) or "this configuration"
            raise RunFailedError(f"{label} failed at every value that was tried: {error}")
        best = (max if better == "higher" else min)(measured, key=measured.__getitem__)
        return Tuned(metric, best, means)

    def _jobs(
        self, configuration: Choice, choice: Choice, seeds: Sequence[Override]
    ) -> list[PlannedJob]:
        given = {axis.name: each for axis, each in zip(self._fixed, configuration, strict=True)}
        given |= {axis.name: each for axis, each in zip(self._tuned, choice, strict=True)}
        lines = [[given.get(axis.name, seed) for axis in self.axes] for seed in seeds]
        return [self._composer.planned(self.axes, line, next(self._numbers)) for line in lines]


def _run(
    composer: Composer, plan: Plan, executor: Executor, job_of: JobOf, fail_fast: bool
) -> None:
    """Run the jobs of a plan that have not finished. Raises RunFailedError where one failed."""
    for job in plan.to_do:
        executor.prepare(job)
    run_plan(composer, plan, executor, job_of, fail_fast)


def _finish(composer: Composer, plan: Plan, tuning: Tuning) -> None:
    """Record how the settings of the compared runs were chosen, and show their results."""
    _record(plan.jobs, tuning)
    show_results(composer, plan)


def _check_ended(jobs: Iterable[PlannedJob], error: RunFailedError) -> None:
    """Raise the error again if a job has no end: one that failed was tried, others were not."""
    if any(job.with_state().found.state not in ("finished", "failed") for job in jobs):
        raise error


def _record(jobs: Iterable[PlannedJob], tuning: Tuning) -> None:
    """Add to the finished runs how their settings were chosen.

    A run that was compared by another sweep remains one.
    """
    for job in jobs:
        found = job.with_state().found
        if found.state != "finished" or found.summary is None:
            continue
        if tuning.trial and found.summary.tuning and not found.summary.tuning.trial:
            continue
        try:
            with lock.hold(job.folder, on_busy=lambda _: None):
                record_tuning(job.folder, tuning)
        except OSError as error:
            console.warn(f"{job.folder} cannot be marked as tuned: {refusal(error)}")


def _value(override: Override) -> str:
    """Return the value of an override as it stands on the command line, unless it is a secret."""
    text: str = recorded(override.text)
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
    beside = order[1] if best == order[0] else order[-2]
    other = (*tuned.best[:place], beside, *tuned.best[place + 1 :])
    return tuned.means[other] != tuned.means[tuned.best]
