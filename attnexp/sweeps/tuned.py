"""A sweep that tunes settings of each configuration before it compares them.

A configuration is a combination of everything that the sweep varies except the seed. Each one is
tried at all values of the tuned settings, at seeds that are not compared. As long as the best
number is the last one in its direction, the next may be tried, and the two best may be tried at
further seeds: the same procedure for all. The values with the best mean of a metric that does not
use the test set are then run at the seeds of the sweep. All runs are jobs with folders of their
own, so the same command continues where an interrupted one ended.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rich.markup import escape

from attnexp.config.schema import import_target
from attnexp.core import console
from attnexp.core.errors import MachineError, RequestError, RunFailedError, refusal
from attnexp.runs import lock
from attnexp.runs.redaction import masked
from attnexp.runs.run_status import Status
from attnexp.runs.summary import Tuning, record_tuning
from attnexp.select.configurations import DATA_SEED
from attnexp.select.number import metric_of
from attnexp.sweeps.objective import NotMeasuredError, finished, mean_of, selection_of
from attnexp.sweeps.overrides import Override, expand
from attnexp.sweeps.plan import Composer, Plan, PlannedJob, plan_of, require_places
from attnexp.sweeps.printed import show_notes, show_plan, warn_of_code
from attnexp.sweeps.schedule import choose_executor, run_compared, run_plan
from attnexp.tables.grid import count_text

SEED = "seed"

FEW = 3
"""The number of values from which a best one at their end is worth a warning."""

VALIDATED = ("val_", "loo_", "train_")
"""The beginnings of numbers that the test set has no part in."""

MOST_BEYOND = 20
"""The most numbers that are tried beyond an end."""

FINALISTS = 2
"""The choices that are tried at the further seeds."""

TIE = 0.01
"""The part of the best value of a given metric within which the task's own metric decides."""

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

    A choice that could not be measured at each of its seeds has None. `at_end` are the settings
    whose best number is the last one in its direction, though the one next to it is not as good.
    """

    metric: str
    best: Choice
    means: Mapping[Choice, float | None]
    at_end: Sequence[str] = ()


@dataclass(frozen=True)
class Means:
    """The means of choices by the metric that decides, and by the one that decides among ties.

    A choice that could not be measured has None, and the first `error` says why.
    """

    metric: str | None
    higher: bool
    values: Mapping[Choice, float | None]
    ties: Mapping[Choice, float]
    higher_ties: bool
    error: str = ""

    @property
    def scores(self) -> dict[Choice, object]:
        """The means of each choice by both metrics; choices with the same are equally good."""
        return {each: (value, self.ties.get(each)) for each, value in self.values.items()}

    def best(self, among: Iterable[Choice]) -> Choice | None:
        """Return the best of choices; of equally good ones the first; None if none was measured."""
        found = {each: value for each in among if (value := self.values[each]) is not None}
        if not found:
            return None
        top = (max if self.higher else min)(found.values())
        near = [each for each in found if abs(found[each] - top) <= TIE * abs(top)]
        if len(near) > 1 and all(each in self.ties for each in near):
            return (max if self.higher_ties else min)(near, key=self.ties.__getitem__)
        return next(each for each, value in found.items() if value == top)


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
    named = f"{count} configuration{'s' if count > 1 else ''}"
    console.say(f"tuning {' and '.join(jobs.names)}: {len(tuning_runs)} runs for {named}")
    if dry_run:
        show_plan(plan)
        if plan.to_do:
            seeds = len(jobs.compared_seeds)
            console.say(f"then {named}, each at its best values, with {seeds} seeds")
        else:
            show_plan(jobs.plan(jobs.compared(jobs.choose(tried))))
        return
    require_places(plan)
    executor = choose_executor(composer, partial(composer.job, jobs.axes), max_batch_size)
    try:
        while True:
            try:
                run_plan(composer, plan, executor, fail_fast=False)
            except RunFailedError as error:
                if isinstance(error, MachineError) or not all(map(_has_ended, tuning_runs)):
                    raise
            tried, before = jobs.tried(), len(tuning_runs)
            tuning_runs = _all(tried)
            if len(tuning_runs) == before:
                break
            plan = plan_of(tuning_runs, composer.rerun)
            console.say(f"tuning goes on with {count_text(len(tuning_runs) - before, 'run')}")
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


class TunedJobs:
    """The jobs of a sweep that tunes its configurations, those of the arguments.

    `tune` are the tuned settings as `name=values`, `seeds` those of the tuning runs. If `metric`
    is None, it is the task's metric for selection, which does not use the test set; else the task's
    decides among choices within `TIE` of the best. Up to `beyond` numbers are tried on each side
    of `FEW` positive ones or more while the best one is at an end, in the ratio of the last two
    there. The `FINALISTS` are tried at the seeds `finals` too.

    Raises RequestError if there is nothing to tune, if a seed would both tune and be compared, or
    twice, and for `beyond` without positive numbers.
    """

    def __init__(
        self,
        composer: Composer,
        arguments: Sequence[str],
        tune: Sequence[str],
        seeds: str,
        metric: str | None,
        beyond: int = 0,
        finals: str = "",
    ) -> None:
        if metric is not None and not metric.startswith(VALIDATED):
            raise RequestError(
                f"hydra.sweeper.metric={metric} may be of the test set: choose by a number that "
                f"begins with {', '.join(VALIDATED)}, such as val_loss"
            )
        if type(beyond) is not int or not 0 <= beyond <= MOST_BEYOND:
            raise RequestError(
                f"hydra.sweeper.beyond must be a whole number from 0 to {MOST_BEYOND}, got {beyond}"
            )
        self.composer = composer
        self._metric = metric
        self._beyond = beyond
        self._numbers = itertools.count()
        self._planned: dict[Choice, PlannedJob] = {}
        parsed = composer.parse([*tune, *arguments])
        overrides = {name: expand(each) for name, each in parsed.items()}
        seed = composer.config.seed
        self.compared_seeds = overrides.pop(SEED, (Override(f"{SEED}={seed}", (seed,)),))
        self.tuning_seeds = expand(composer.parse([f"{SEED}={seeds}"])[SEED])
        self.final_seeds = expand(composer.parse([f"{SEED}={finals}"])[SEED]) if finals else ()
        tuning = [each.text for each in (*self.tuning_seeds, *self.final_seeds)]
        if len({*tuning}) < len(tuning):
            raise RequestError(f"the tuning seeds have one twice: {', '.join(tuning)}")
        shared = {each.text for each in self.compared_seeds}.intersection(tuning)
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
        starts = {name: overrides[name] for name in self.names}
        further = {name: _further(name, own, beyond) for name, own in starts.items()}
        if beyond and not any(further.values()):
            raise RequestError(
                f"hydra.sweeper.beyond={beyond} needs {FEW} positive numbers or more of a tuned "
                f"setting, not all of them whole, got {' '.join(tune)}"
            )
        overrides |= {name: (*own, *further[name]) for name, own in starts.items()}
        every = (*self.compared_seeds, *self.tuning_seeds, *self.final_seeds)
        # Where data_seed is not given, tuning runs may take that of a compared seed.
        splits = (OWN_DATA, *(_data_of(seed) for seed in self.compared_seeds))
        self.axes = composer.axes_of({DATA_SEED: splits, **overrides, SEED: every})
        apart = (*self.names, SEED, *(() if DATA_SEED in overrides else (DATA_SEED,)))
        self._tuned = [axis for axis in self.axes if axis.name in self.names]
        self._fixed = [axis for axis in self.axes if axis.name not in apart]
        self._starts = [starts[axis.name] for axis in self._tuned]
        self._choices = list(itertools.product(*self._starts))
        self.configurations = list(itertools.product(*(axis.overrides for axis in self._fixed)))

    def tried(self) -> dict[Case, Tried]:
        """Return the jobs that tune, by configuration, and by seed if seeds split a file.

        Which jobs are needed depends on the results of those that have ended.
        """
        found: dict[Case, Tried] = {}
        for each in self.configurations:
            (first, *_) = self._jobs(each, self._choices[0], self.tuning_seeds[:1])
            seeds_split = first.settings[DATA_SEED] is None and _is_of_file(first.settings)
            splits = self.compared_seeds if seeds_split else (None,)
            for split in splits:
                data = OWN_DATA if split is None else _data_of(split)
                found[each, split] = self._search(partial(self._jobs, each, data=data))
        return found

    def _search(self, jobs: Callable[[Choice, Sequence[Override]], Iterable[PlannedJob]]) -> Tried:
        """Return the jobs that tune a configuration, by the results of those that have ended."""
        tried = {choice: list(jobs(choice, self.tuning_seeds)) for choice in self._choices}
        if not self._beyond and not self.final_seeds:
            return tried
        while all(_has_ended(job) for own in tried.values() for job in own):
            means = self._means(tried)
            best = means.best(tried)
            further = None if best is None else self._next(best, means.scores)
            if further is None:
                for choice in self._finalists(means):
                    tried[choice] += jobs(choice, self.final_seeds)
                break
            tried[further] = list(jobs(further, self.tuning_seeds))
        return tried

    def _next(self, best: Choice, means: Mapping[Choice, object]) -> Choice | None:
        """Return the choice with the next number of a setting whose best one is at an end."""
        for place, axis in enumerate(self._tuned):
            if _at_end(place, best, means):
                order = sorted(filter(_number, axis.overrides), key=_number)
                tried = sorted({each[place] for each in means}, key=_number)
                at = order.index(best[place]) + (1 if best[place] == tried[-1] else -1)
                if 0 <= at < len(order):
                    return (*best[:place], order[at], *best[place + 1 :])
        return None

    def _finalists(self, means: Means) -> Iterator[Choice]:
        left = [*means.values]
        while self.final_seeds and left and len(means.values) - len(left) < FINALISTS:
            best = means.best(left)
            if best is None:
                return
            left.remove(best)
            yield best

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
        means = self._means(tried)
        most = max(map(len, tried.values()))
        best = means.best(each for each in tried if len(tried[each]) == most) or means.best(tried)
        if means.metric is None or best is None:
            raise RunFailedError(f"{label} failed at every value that was tried: {means.error}")
        first = {each: jobs[: len(self.tuning_seeds)] for each, jobs in tried.items()}
        scores = self._means(first).scores
        ends = [axis.name for place, axis in enumerate(self._tuned) if _at_end(place, best, scores)]
        return Tuned(means.metric, best, means.values, ends)

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
                job = self.composer.planned(self.axes, line, next(self._numbers))
                self._planned[line] = job
            yield self._planned[line]


def _is_of_file(settings: Mapping[str, Any]) -> bool:
    """Return whether the data are rows of one file, which a seed splits."""
    data: Any = import_target(settings["data"], "data")
    splits_rows = getattr(data, "splits_rows", False) is True
    return splits_rows and data.fixed_by(settings["data"]) is None


def _data_of(seed: Override) -> Override:
    return Override(f"{DATA_SEED}={_value(seed)}", seed.value)


def seeds_text(name: str, seeds: object) -> str:
    """Return seeds as on the command line. Raises RequestError unless they are whole numbers."""
    found = list(seeds) if isinstance(seeds, Sequence) and not isinstance(seeds, str) else [None]
    if not all(type(seed) is int and seed >= 0 for seed in found):
        raise RequestError(f"{name} must be a list of whole numbers, such as [1001], got {seeds}")
    return ",".join(map(str, found))


def _all(tried: Mapping[Case, Tried]) -> list[PlannedJob]:
    return [job for own in tried.values() for at_choice in own.values() for job in at_choice]


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
    """Return the value of an override as on the command line, unless it is a secret."""
    text: str = masked(override.text)
    return text.partition("=")[2]


def _number(override: Override) -> float:
    """Return the number of an override, NaN if it has none."""
    value = None if override.value is None else override.value[0]
    return math.nan if isinstance(value, str | bool | None) else value


def numbers_beyond(given: Sequence[float], beyond: int) -> list[float]:
    """Return the numbers beyond those given, on each side in the ratio of the last two there.

    None unless `FEW` positive numbers or more are given, of which not all are whole: those count.
    """
    order = sorted({*given})
    whole = all(isinstance(number, int) for number in given)
    if whole or len(order) < FEW or not all(number > 0 for number in order):
        return []
    ends = ((order[0], order[0] / order[1]), (order[-1], order[-1] / order[-2]))
    return [float(f"{end * ratio**k:.3g}") for end, ratio in ends for k in range(1, beyond + 1)]


def _further(name: str, given: Sequence[Override], beyond: int) -> list[Override]:
    """Return the overrides beyond those given."""
    numbers = numbers_beyond([*map(_number, given)], beyond)
    return [Override(f"{name}={number:g}", (number,)) for number in numbers]


def _at_end(place: int, best: Choice, means: Mapping[Choice, object]) -> bool:
    """Return whether the best value is the smallest or largest of several numbers that differ."""
    order = sorted({each[place] for each in means}, key=_number)
    if len(order) < FEW or any(math.isnan(_number(each)) for each in order):
        return False
    if best[place] not in (order[0], order[-1]):
        return False
    neighbour = order[1] if best[place] == order[0] else order[-2]
    other = (*best[:place], neighbour, *best[place + 1 :])
    return means.get(other) != means[best]
