"""The loop of a search: points are proposed, run as jobs, and stored with their values.

A point is one job, or one for each seed, so a point whose jobs have finished is not run again. The
same command continues the search up to `n_trials` points in total.
"""

import itertools
import statistics
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import yaml
from optuna.trial import FrozenTrial, Trial
from rich.markup import escape

from attnexp import console
from attnexp.errors import RunFailedError, unwritable
from attnexp.runs import files, lock
from attnexp.runs.key import NEUTRAL
from attnexp.runs.settings import without
from attnexp.runs.summary import Summary, read_summary
from attnexp.sweeps.executors.base import Executor
from attnexp.sweeps.measure import NotMeasuredError, finished, selection_of, value_of
from attnexp.sweeps.multirun import choose_executor
from attnexp.sweeps.outcome import first_line
from attnexp.sweeps.plan import Composer, Plan, PlannedJob, distinct
from attnexp.sweeps.scheduler import Scheduler
from attnexp.sweeps.search.space import Point, Space
from attnexp.sweeps.search.study import TrialStore, error_of

BEST = Path("experiment") / "best.yaml"
"""Where the best configuration is written, below the folder of the search."""

PROPOSALS = 5
"""How many proposals in a row may be old points. Then the first point not yet tried is taken."""

SHOWN = 5
"""How many of the best points are shown."""


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
    """Search the space that the arguments span.

    With `dry_run` only the trials so far are shown. Raises RunFailedError where no point could be
    measured, and RequestError where the search cannot be written.
    """
    space = Space(composer, arguments)
    names = [each.name.rpartition(".")[2] for each in space.dimensions]
    by = [f"by_{settings.metric}"] if settings.metric else []
    root = Path(composer.config.hydra.sweep.dir).absolute()
    folder = root / "-".join(["search", *names, *by, space.key])
    try:
        with nullcontext() if dry_run else lock.hold(folder, on_busy=_announce_wait):
            trials = TrialStore(folder, space.dimensions, settings.sampler_seed, settings.at_once)
            executor = choose_executor(composer, space.job, None)
            found = Search(space, trials, executor, settings, folder)
            found.show() if dry_run else found.run()
    except OSError as error:
        raise unwritable("output_dir", folder, error) from error


def _announce_wait(holder: str) -> None:
    console.say(f"{holder} is at work on this search; waiting for it")


class Search:
    """A search in its folder. The caller holds the lock of the folder."""

    def __init__(
        self,
        space: Space,
        trials: TrialStore,
        executor: Executor,
        settings: SearchSettings,
        folder: Path,
    ) -> None:
        self._space = space
        self._trials = trials
        self._executor = executor
        self._settings = settings
        self._folder = folder
        known = [*trials.counted(), *trials.unfinished()]
        self._tried = {space.point_key(trial.params) for trial in known if self._is_complete(trial)}

    def run(self) -> None:
        """Propose and measure points until there are enough.

        Raises RunFailedError where no point could be measured, and KeyboardInterrupt with the
        number of finished points where the search was interrupted.
        """
        self._trials.mend()
        try:
            self._measure(self._resume())
            while proposed := self._propose():
                self._measure(proposed)
        except KeyboardInterrupt:
            count = len(self._trials.counted())
            raise KeyboardInterrupt(
                f"interrupted: {count} of {self._settings.n_trials} points are done; the same "
                "command goes on"
            ) from None
        finally:
            self._executor.stop()
            self.show()
        if self._trials.best() is None:
            raise RunFailedError("no point of the search could be measured")

    def show(self) -> None:
        """Show the number of points, the best points, and the command that runs the best."""
        counted = self._trials.counted()
        ranked = self._trials.ranked()
        failed = [trial for trial in counted if trial.value is None]
        console.say(
            f"{len(counted)} of {self._settings.n_trials} points: {len(ranked)} measured, "
            f"{len(failed)} failed"
        )
        if failed:
            last = failed[-1]
            point = text(self._space.point(last.params))
            console.say(f"the last that failed: {point}: {first_line(error_of(last))}")
        if not ranked:
            return
        names = [each.name for each in self._space.dimensions]
        metric = str(self._trials.metric)
        table = console.plain_table([*names, metric], right=[metric])
        for trial in ranked[:SHOWN]:
            point_values = [
                override.text.partition("=")[2] for override in self._space.point(trial.params)
            ]
            table.add_row(*map(escape, point_values), console.number_text(trial.value))
        console.out.print(table)
        console.say(f"attnexp --config-dir {console.near(self._folder)} experiment=best")

    def _is_complete(self, trial: FrozenTrial) -> bool:
        """Return whether a trial has all its values. A killed process may have left some out."""
        return len(trial.params) == len(self._space.dimensions)

    def _resume(self) -> list[tuple[Trial, Point]]:
        """Return the points that an earlier command has begun and not ended."""
        points = []
        for trial in self._trials.unfinished():
            resumed = self._trials.resumed(trial)
            if self._is_complete(trial):
                points.append((resumed, self._space.point(trial.params)))
            else:
                self._trials.reject(resumed)
        return points

    def _propose(self) -> list[tuple[Trial, Point]]:
        missing = self._settings.n_trials - len(self._trials.counted())
        proposed: list[tuple[Trial, Point]] = []
        while len(proposed) < min(self._settings.at_once, missing):
            trial = self._new_trial()
            if trial is None:
                if not proposed:
                    console.say(f"all {len(self._tried)} points of the space have been tried")
                break
            self._tried.add(self._space.point_key(trial.params))
            proposed.append((trial, self._space.point(trial.params)))
        return proposed

    def _new_trial(self) -> Trial | None:
        """Return a trial of a point that has not been tried, or None where there is none."""
        if len(self._tried) >= self._space.size:
            return None
        for _ in range(PROPOSALS):
            trial = self._trials.ask()
            if self._space.point_key(trial.params) not in self._tried:
                return trial
            self._trials.reject(trial)
        for values in self._space.all_values():
            if self._space.point_key(values) not in self._tried:
                return self._trials.ask(values)
        return None

    def _measure(self, proposed: Sequence[tuple[Trial, Point]]) -> None:
        """Run the jobs of some points, and store the value of each point."""
        jobs = [self._space.jobs(point) for _, point in proposed]
        found = tuple(job.with_state() for job in distinct(itertools.chain(*jobs)))
        if not found:
            return
        plan = Plan(found, repeated=0, old_versions=())
        Scheduler(plan, self._executor, self._space.job, fail_fast=False).run_jobs()
        best = self._trials.best()
        for (trial, point), own in zip(proposed, jobs, strict=True):
            self._store(trial, point, own)
        now = self._trials.best()
        if now is not None and (best is None or now.number != best.number):
            self._write_best(now.value or 0.0, self._space.jobs(self._space.point(now.params))[0])

    def _store(self, trial: Trial, point: Point, jobs: Sequence[PlannedJob]) -> None:
        try:
            summaries = [finished(job) for job in jobs]
            metric = self._trials.metric or self._settings.metric or selection_of(summaries[0])
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
            f"{count}/{self._settings.n_trials} {text(point)}: {metric} {value:.4g} "
            f"(best {best.value:.4g})"
        )

    def _write_best(self, value: float, job: PlannedJob) -> None:
        summary = read_summary(job.folder)
        title = f"The best point of {self._folder.name}: {self._trials.metric} {value:.4g}."
        path = self._folder / BEST
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_bytes(path, experiment_of(summary, title).encode())


def text(point: Point) -> str:
    """Return a point as it stands on the command line."""
    return " ".join(override.text for override in point)


def experiment_of(summary: Summary, title: str) -> str:
    """Return a run's configuration as a file for conf/experiment: its choices and its settings."""
    chosen = {group: name for group, name in summary.choices.items() if group != "experiment"}
    content = {
        "defaults": [{f"override /{group}": name} for group, name in sorted(chosen.items())],
        **without(summary.config, NEUTRAL),
    }
    body = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    return f"# @package _global_\n# {title}\n{body}"
