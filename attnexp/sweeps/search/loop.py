"""Search: Optuna proposes points of a space, which are run as jobs and remembered in a file.

A point is a job, or a job for each seed, so what has finished is never run again. The same command
goes on where the last one was, up to `n_trials` in total.
"""

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from rich.markup import escape

from attnexp import console
from attnexp.errors import RunFailedError, choices_text
from attnexp.runs import files
from attnexp.runs.key import NEUTRAL
from attnexp.runs.settings import without
from attnexp.runs.state import look
from attnexp.runs.summary import Summary, read_summary
from attnexp.sweeps.executors.base import Engine
from attnexp.sweeps.outcome import first_line
from attnexp.sweeps.plan import Plan, Planned
from attnexp.sweeps.scheduler import Sweep
from attnexp.sweeps.search.space import Point, Space
from attnexp.sweeps.search.study import Trials, error_of

if TYPE_CHECKING:
    from optuna.trial import Trial

BEST = Path("experiment") / "best.yaml"
"""Where the best configuration is written, below the folder of the search."""

PROPOSALS = 5
"""How often a proposal may be an old point before a new one is chosen at random."""

SHOWN = 5
"""How many of the best points are shown."""


@dataclass(frozen=True)
class Wanted:
    """How many points in total, how many beside each other, and by which metric.

    `metric` None is the one that the task selects by, which has not seen the test set.
    """

    n_trials: int
    at_once: int
    metric: str | None


class Search:
    """A search in its folder, which only this process writes."""

    def __init__(
        self, space: Space, trials: Trials, engine: Engine, wanted: Wanted, folder: Path
    ) -> None:
        self._space = space
        self._trials = trials
        self._engine = engine
        self._wanted = wanted
        self._folder = folder
        ended = [*trials.counted(), *trials.unfinished()]
        self._seen = {text(space.point(trial.params)) for trial in ended if trial.params}

    def run(self) -> None:
        """Propose points and measure them until there are enough.

        Raises RunFailedError where no point could be measured, and KeyboardInterrupt with what to
        do next where the search was interrupted.
        """
        try:
            self._measure(self._left_behind())
            while proposed := self._propose():
                self._measure(proposed)
        except KeyboardInterrupt:
            count = len(self._trials.counted())
            raise KeyboardInterrupt(
                f"interrupted: {count} of {self._wanted.n_trials} points are done; the same "
                "command goes on"
            ) from None
        finally:
            self._engine.stop()
            self.show()
        if self._trials.best() is None:
            raise RunFailedError("no point of the search could be measured")

    def show(self) -> None:
        """How many points there are, the best of them, and how to run the best one."""
        counted = self._trials.counted()
        ranked = self._trials.ranked()
        failed = [trial for trial in counted if trial.value is None]
        console.say(
            f"{len(counted)} of {self._wanted.n_trials} points: {len(ranked)} measured, "
            f"{len(failed)} failed"
        )
        if failed:
            last = failed[-1]
            point = text(self._space.point(last.params))
            console.say(f"the last that failed: {point}: {first_line(error_of(last))}")
        if not ranked:
            return
        names = [each.name for each in self._space.dimensions]
        table = console.plain_table(
            [*names, str(self._trials.metric)], right=[str(self._trials.metric)]
        )
        for trial in ranked[:SHOWN]:
            words = [word.text.partition("=")[2] for word in self._space.point(trial.params)]
            table.add_row(*map(escape, words), console.number_text(trial.value))
        console.out.print(table)
        console.say(f"attnexp --config-dir {console.near(self._folder)} experiment=best")

    def _left_behind(self) -> "list[tuple[Trial, Point]]":
        """The points that an earlier command has begun and not ended."""
        points = []
        for trial in self._trials.unfinished():
            resumed = self._trials.resumed(trial)
            if len(trial.params) == len(self._space.dimensions):
                points.append((resumed, self._space.point(trial.params)))
            else:
                self._trials.refuse(resumed)  # cut short while it was proposed
        return points

    def _propose(self) -> "list[tuple[Trial, Point]]":
        wanted = min(self._wanted.at_once, self._wanted.n_trials - len(self._trials.counted()))
        proposed: list[tuple[Trial, Point]] = []
        while len(proposed) < wanted:
            if len(self._seen) >= self._space.size:
                if not proposed:
                    console.say(f"all {self._space.size:g} points of the space have been tried")
                break
            trial = self._new_trial()
            point = self._space.point(trial.params)
            self._seen.add(text(point))
            proposed.append((trial, point))
        return proposed

    def _new_trial(self) -> "Trial":
        """A trial of a point that has not been proposed before."""
        for _ in range(PROPOSALS):
            trial = self._trials.ask()
            if text(self._space.point(trial.params)) not in self._seen:
                return trial
            self._trials.refuse(trial)
        new = (
            values
            for values in self._space.all_values()
            if text(self._space.point(values)) not in self._seen
        )
        return self._trials.ask_for(next(new))

    def _measure(self, proposed: "Sequence[tuple[Trial, Point]]") -> None:
        """Run the jobs of some points beside each other, and remember what came of each point."""
        jobs = [[found(job) for job in self._space.jobs(point)] for _, point in proposed]
        plan = Plan(tuple(itertools.chain(*jobs)), repeated=0, old_versions=())
        if not plan.jobs:
            return
        Sweep(plan, self._engine, self._space.job, fail_fast=False).work()
        best = self._trials.best()
        for (trial, point), own in zip(proposed, jobs, strict=True):
            self._remember(trial, point, own)
        now = self._trials.best()
        if now is not None and (best is None or now.number != best.number):
            self._write_best(now.value or 0.0, self._space.jobs(self._space.point(now.params))[0])

    def _remember(self, trial: "Trial", point: Point, jobs: Sequence[Planned]) -> None:
        try:
            summaries = [finished(job) for job in jobs]
            metric = self._trials.metric or self._wanted.metric or selection_of(summaries[0])
            value = statistics.fmean(value_of(summary, metric) for summary in summaries)
        except NotMeasuredError as error:
            self._trials.failed(trial, str(error))
            return
        better = summaries[0].better.get(metric, "lower")
        if self._trials.metric is None and metric == summaries[0].primary:
            console.warn(
                f"{metric} is measured on the test set: the best point of a search by it looks "
                "better there than it is"
            )
        self._trials.measured(trial, value, metric, better)
        best = self._trials.best()
        assert best is not None
        count = len(self._trials.counted())
        console.say(
            f"{count}/{self._wanted.n_trials} {text(point)}: {metric} {value:.4g} "
            f"(best {best.value:.4g})"
        )

    def _write_best(self, value: float, job: Planned) -> None:
        summary = read_summary(job.folder)
        title = f"The best point of {self._folder.name}: {self._trials.metric} {value:.4g}."
        path = self._folder / BEST
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_bytes(path, experiment_of(summary, title).encode())


class NotMeasuredError(Exception):
    """A point has no value. The text says why."""


def text(point: Point) -> str:
    """A point in words."""
    return " ".join(word.text for word in point)


def found(job: Planned) -> Planned:
    """A job with what its folder holds."""
    return replace(job, found=look(job.folder, job.settings))


def finished(job: Planned) -> Summary:
    """The summary of a job. Raises NotMeasuredError where it has not finished."""
    state = look(job.folder, job.settings)
    if state.state != "finished" or state.summary is None:
        raise NotMeasuredError(state.error or f"{job.folder.name} did not run to its end")
    return state.summary


def selection_of(summary: Summary) -> str:
    """The metric that a run's task selects by. Raises NotMeasuredError where none is recorded."""
    if summary.selection is None:
        raise NotMeasuredError("its summary does not say what to select by: give a metric")
    return summary.selection


def value_of(summary: Summary, metric: str) -> float:
    """The metric of a run. Raises NotMeasuredError where it has none, or one that is no number."""
    metrics = summary.metrics
    if metric not in metrics:
        raise NotMeasuredError(f"there is no metric '{metric}': choose {choices_text(metrics)}")
    value = metrics[metric]
    if value is None:
        raise NotMeasuredError(f"{metric} is not a number")
    return value


def experiment_of(summary: Summary, title: str) -> str:
    """A run's configuration as a file for conf/experiment: its choices, then every setting."""
    chosen = {group: name for group, name in summary.choices.items() if group != "experiment"}
    content = {
        "defaults": [{f"override /{group}": name} for group, name in sorted(chosen.items())],
        **without(summary.config, NEUTRAL),
    }
    body = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    return f"# @package _global_\n# {title}\n{body}"
