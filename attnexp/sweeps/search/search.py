"""A search with Optuna: points are proposed, run as jobs, and told to Optuna with their values.

A point is one job, or one for each seed. Optuna's state is not stored: from the same seed and the
same values it proposes the same points, so the same command reads the points of an earlier one from
their runs, and continues up to `n_trials` points in total. The study always minimizes: where more
is better, the values are negative.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import optuna
import yaml
from optuna.samplers import TPESampler
from optuna.trial import FrozenTrial, Trial, TrialState
from rich.markup import escape

from attnexp import console
from attnexp.errors import RunFailedError, writable
from attnexp.runs import files
from attnexp.runs.key import NEUTRAL
from attnexp.runs.redaction import masked
from attnexp.runs.settings import without
from attnexp.runs.status import Status
from attnexp.runs.summary import Summary
from attnexp.sweeps.launchers.base import Executor
from attnexp.sweeps.objective import NotMeasuredError, finished, mean_of, selection_of
from attnexp.sweeps.outcome import first_line
from attnexp.sweeps.overrides import Override
from attnexp.sweeps.plan import Composer, Plan, distinct
from attnexp.sweeps.schedule import Scheduler, choose_executor
from attnexp.sweeps.search.space import Point, Space, Values

BEST = Path("experiment") / "best.yaml"
"""Where the best configuration is written, below the folder of the search."""

PROPOSALS = 5
"""How many proposals in a row may be old points. Then the first point not yet tried is taken."""

SHOWN = 5
"""How many of the best points are shown."""

ERROR = "error"
"""The attribute of a failed trial that says why."""


@dataclass(frozen=True)
class SearchSettings:
    """The total number of points, how many of them run at a time, and the metric to search by.

    If `metric` is None, it is the task's metric for selection, which does not use the test set.
    """

    n_trials: int
    at_once: int
    metric: str | None
    sampler_seed: int


def search(
    composer: Composer, arguments: Sequence[str], settings: SearchSettings, dry_run: bool
) -> None:
    """Search the space that the arguments span, and write the best point as an experiment.

    With `dry_run` only the points so far are shown. Raises RunFailedError where no point could be
    measured, KeyboardInterrupt with the number of finished points where the search was interrupted,
    and RequestError where the best point cannot be written.
    """
    space = Space(composer, arguments)
    executor = choose_executor(composer, space.job, None)
    found = Search(space, settings, executor)
    if dry_run:
        while (proposed := found.propose()) and not found.plan(proposed).to_do:
            found.measure(proposed)
        found.show()
        return
    try:
        while proposed := found.propose():
            found.measure(proposed)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"interrupted: {len(found.counted())} of {settings.n_trials} points are done; the same "
            "command goes on"
        ) from None
    finally:
        executor.stop()
        found.show()
        names = [each.name.rpartition(".")[2] for each in space.dimensions]
        by = [f"by_{settings.metric}"] if settings.metric else []
        root = Path(composer.config.hydra.sweep.dir).absolute()
        found.write_best(root / "-".join(["search", *names, *by, space.key]))
    if not found.ranked():
        raise RunFailedError("no point of the search could be measured")


class Search:
    """The points of a search that have been proposed, as Optuna's trials.

    `executor` runs their jobs.
    """

    def __init__(self, space: Space, settings: SearchSettings, executor: Executor) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._space = space
        self._settings = settings
        self._executor = executor
        self._distributions = {each.name: each.distribution for each in space.dimensions}
        sampler = TPESampler(seed=settings.sampler_seed, constant_liar=settings.at_once > 1)
        self._study = optuna.create_study(sampler=sampler)
        self._tried: set[str] = set()
        self._metric = settings.metric
        self._sign: int | None = None

    def counted(self) -> list[FrozenTrial]:
        """Return the trials whose points were measured or failed."""
        return [
            trial
            for trial in self._study.get_trials(deepcopy=False)
            if trial.state == TrialState.COMPLETE or ERROR in trial.user_attrs
        ]

    def ranked(self) -> list[FrozenTrial]:
        """Return the trials that were measured, the best first."""
        measured = [trial for trial in self.counted() if trial.value is not None]
        return sorted(measured, key=lambda trial: trial.value or 0.0)

    def propose(self) -> list[tuple[Trial, Point]]:
        """Return the next points to measure, as many as run at a time, with their trials."""
        wanted = min(self._settings.at_once, self._settings.n_trials - len(self.counted()))
        proposed: list[tuple[Trial, Point]] = []
        while len(proposed) < wanted and (trial := self._new_trial()):
            proposed.append((trial, self._space.point(trial.params)))
        if wanted > 0 and not proposed:
            console.say(f"all {len(self._tried)} points of the space have been tried")
        return proposed

    def plan(self, proposed: Sequence[tuple[Trial, Point]]) -> Plan:
        """Return the plan of the jobs of some points without those that failed, which stay so."""
        jobs = itertools.chain(*(self._space.jobs(point) for _, point in proposed))
        refreshed = (job.refreshed() for job in distinct(jobs))
        return Plan(tuple(job for job in refreshed if job.found.status is not Status.FAILED))

    def measure(self, proposed: Sequence[tuple[Trial, Point]]) -> None:
        """Run the jobs of some points, and tell the value of each point to Optuna."""
        plan = self.plan(proposed)
        Scheduler(plan, self._executor, fail_fast=False).run_jobs()
        for trial, point in proposed:
            jobs = self._space.jobs(point)
            try:
                self._metric = self._metric or selection_of(jobs[0])
                value = mean_of(jobs, self._metric)
            except NotMeasuredError as error:
                trial.set_user_attr(ERROR, str(error))
                self._study.tell(trial, state=TrialState.FAIL)
                continue
            if self._sign is None:
                self._begin(finished(jobs[0]), self._metric)
            self._study.tell(trial, self._signed(value))
            if plan.to_do:
                console.say(
                    f"{len(self.counted())}/{self._settings.n_trials} {text(point)}: "
                    f"{self._metric} {value:.4g} (best {self._signed(self.ranked()[0].value):.4g})"
                )

    def show(self) -> None:
        """Show the number of points and the best points."""
        ranked = self.ranked()
        failed = [trial for trial in self.counted() if trial.value is None]
        console.say(
            f"{len(ranked) + len(failed)} of {self._settings.n_trials} points: {len(ranked)} "
            f"measured, {len(failed)} failed"
        )
        if failed:
            last = failed[-1]
            why = first_line(str(last.user_attrs[ERROR]))
            console.say(f"the last that failed: {text(self._space.point(last.params))}: {why}")
        if not ranked:
            return
        metric = str(self._metric)
        table = console.plain_table(
            [*(each.name for each in self._space.dimensions), metric], right=[metric]
        )
        for trial in ranked[:SHOWN]:
            point = self._space.point(trial.params)
            values = [text([override]).partition("=")[2] for override in point]
            table.add_row(*map(escape, values), console.number_text(self._signed(trial.value)))
        console.out.print(table)

    def write_best(self, folder: Path) -> None:
        """Write the best point as an experiment below a folder, and say how to run it."""
        if not (ranked := self.ranked()):
            return
        summary = finished(self._space.jobs(self._space.point(ranked[0].params))[0])
        reached = f"{self._metric} {self._signed(ranked[0].value):.4g}"
        title = f"The best point of {folder.name}: {reached}."
        path = folder / BEST
        with writable("output_dir", folder):
            path.parent.mkdir(parents=True, exist_ok=True)
            files.write_bytes(path, experiment_of(summary, title).encode())
        console.say(f"attnexp --config-dir {console.relative(folder)} experiment=best")

    def _new_trial(self) -> Trial | None:
        """Return a trial of a point that has not been tried, or None where there is none."""
        for _ in range(PROPOSALS):
            trial = self._study.ask(self._distributions)
            if self._is_new(trial.params):
                return trial
            self._study.tell(trial, state=TrialState.FAIL)
        for values in self._space.all_values():
            if self._is_new(values):
                self._study.enqueue_trial(dict(values))
                return self._study.ask(self._distributions)
        return None

    def _is_new(self, values: Values) -> bool:
        """Return whether a point has not been tried. It counts as tried from then on."""
        key = self._space.point_key(values)
        is_new = key not in self._tried
        self._tried.add(key)
        return is_new

    def _begin(self, summary: Summary, metric: str) -> None:
        """Note whether more of the metric is better, from the first point that was measured."""
        self._sign = -1 if summary.better.get(metric) == "higher" else 1
        if metric == summary.primary:
            console.warn(
                f"{metric} is measured on the test set: the best point of a search by it looks "
                "better there than it is"
            )

    def _signed(self, value: float | None) -> float:
        """Return a metric for its value in the study, and the other way round."""
        return (value or 0.0) * (self._sign or 1)


def text(point: Sequence[Override]) -> str:
    """Return a point as it is written on the command line, without secrets."""
    return " ".join(masked(override.text) for override in point)


def experiment_of(summary: Summary, title: str) -> str:
    """Return a run's configuration as a file for conf/experiment: its choices and its settings."""
    chosen = {group: name for group, name in summary.choices.items() if group != "experiment"}
    content = {
        "defaults": [{f"override /{group}": name} for group, name in sorted(chosen.items())],
        **without(summary.config, NEUTRAL),
    }
    body = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    return f"# @package _global_\n# {title}\n{body}"
