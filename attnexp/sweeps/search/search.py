"""A search with Optuna: points are proposed, run as jobs, and stored with their values.

A point is one job, or one for each seed, so a point whose jobs have finished is not run again. The
same command continues the search up to `n_trials` points in total. Optuna's state is a file of its
journal storage. Its study always minimizes: where more is better, the values are negative.
"""

import itertools
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import optuna
import yaml
from optuna.samplers import TPESampler
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState
from rich.markup import escape

from attnexp import console
from attnexp.errors import RequestError, RunFailedError, writable
from attnexp.runs import files, lock
from attnexp.runs.key import NEUTRAL
from attnexp.runs.settings import without
from attnexp.runs.summary import Summary
from attnexp.sweeps.launchers.base import Executor
from attnexp.sweeps.objective import NotMeasuredError, finished, mean_of, selection_of
from attnexp.sweeps.outcome import first_line
from attnexp.sweeps.plan import Composer, Plan, PlannedJob, distinct
from attnexp.sweeps.schedule import Scheduler, choose_executor
from attnexp.sweeps.search.space import Point, Space

NAME, JOURNAL = "attnexp", "trials.journal"
"""The name of the study, and the file that it is in."""

BEST = Path("experiment") / "best.yaml"
"""Where the best configuration is written, below the folder of the search."""

PROPOSALS = 5
"""How many proposals in a row may be old points. Then the first point not yet tried is taken."""

SHOWN = 5
"""How many of the best points are shown."""

ERROR, METRIC, HIGHER = "error", "metric", "higher"
"""Attributes of a failed trial, and of a study: its metric, and whether more of it is better."""


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
    measured, and RequestError where the search cannot be read or written.
    """
    space = Space(composer, arguments)
    names = [each.name.rpartition(".")[2] for each in space.dimensions]
    by = [f"by_{settings.metric}"] if settings.metric else []
    root = Path(composer.config.hydra.sweep.dir).absolute()
    folder = root / "-".join(["search", *names, *by, space.key])
    executor = choose_executor(composer, space.job, None)
    with (
        writable("output_dir", folder),
        nullcontext() if dry_run else lock.hold(folder, on_busy=_announce_wait),
    ):
        if not dry_run:
            _drop_incomplete_line(folder / JOURNAL)
        found = Search(space, settings, folder)
        if dry_run:
            found.show()
        else:
            found.run(executor)


def _announce_wait(holder: str) -> None:
    console.say(f"{holder} is running this search; waiting for it")


class NoLock(JournalFileOpenLock):
    """Does nothing. The search holds its folder's lock; Optuna's would outlive a killed process."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        pass


class Search:
    """A search in its folder, whose lock the caller holds.

    Raises RequestError where the folder has a journal that is not that of a search.
    """

    def __init__(self, space: Space, settings: SearchSettings, folder: Path) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._space = space
        self._settings = settings
        self._folder = folder
        self._distributions = {each.name: each.distribution for each in space.dimensions}
        self._file = folder / JOURNAL
        self._stored = self._file.exists() and self._file.stat().st_size > 0
        self._study = self._loaded() if self._stored else optuna.create_study()

    def run(self, executor: Executor) -> None:
        """Propose and measure points until there are enough.

        Raises RunFailedError where no point could be measured, and KeyboardInterrupt with the
        number of finished points where the search was interrupted.
        """
        try:
            if not self._stored:
                self._study = optuna.create_study(study_name=NAME, storage=self._storage())
            self._study.sampler = self._sampler()
            self._resume()
            while proposed := self._propose():
                self._measure(proposed, executor)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"interrupted: {len(self._counted())} of {self._settings.n_trials} points are "
                "done; the same command goes on"
            ) from None
        finally:
            executor.stop()
            self.show()
        if not self._ranked():
            raise RunFailedError("no point of the search could be measured")

    def show(self) -> None:
        """Show the number of points, the best points, and the command that runs the best."""
        ranked = self._ranked()
        failed = [trial for trial in self._counted() if trial.value is None]
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
        metric = self._study.user_attrs[METRIC]
        table = console.plain_table(
            [*(each.name for each in self._space.dimensions), metric], right=[metric]
        )
        for trial in ranked[:SHOWN]:
            values = [each.text.partition("=")[2] for each in self._space.point(trial.params)]
            table.add_row(*map(escape, values), console.number_text(self._signed(trial.value)))
        console.out.print(table)
        console.say(f"attnexp --config-dir {console.relative(self._folder)} experiment=best")

    def _storage(self) -> JournalStorage:
        file = str(self._file)
        return JournalStorage(JournalFileBackend(file, lock_obj=NoLock(file)))

    def _sampler(self) -> TPESampler:
        """Return a sampler that does not repeat the proposals of earlier commands."""
        seed = self._settings.sampler_seed + len(self._study.trials)
        return TPESampler(seed=seed, constant_liar=self._settings.at_once > 1)

    def _loaded(self) -> Study:
        """Return the study of the file, which is lines of JSON; nothing in it is code."""
        try:
            study = optuna.load_study(study_name=NAME, storage=self._storage())
            self._check(study)
        except OSError:
            raise
        except Exception as error:  # Optuna checks little of what it reads
            why = f"{type(error).__name__}: {error}"
            raise RequestError(
                f"{self._file} is not the journal of this search ({why:.120}): move it away"
            ) from error
        return study

    def _check(self, study: Study) -> None:
        """Raise ValueError or KeyError for trials with values that the space does not have.

        `fixed_params` are those of a trial that waits to be begun.
        """
        for trial in study.get_trials(deepcopy=False):
            waiting = trial.system_attrs.get("fixed_params", {})
            for name, value in {**waiting, **trial.params}.items():
                allowed = self._distributions[name]
                if not allowed._contains(allowed.to_internal_repr(value)):
                    raise ValueError(f"it has other values of {name:.60}")

    def _counted(self) -> list[FrozenTrial]:
        """Return the trials whose points were measured or failed."""
        return [
            trial
            for trial in self._study.get_trials(deepcopy=False)
            if trial.state == TrialState.COMPLETE or ERROR in trial.user_attrs
        ]

    def _ranked(self) -> list[FrozenTrial]:
        """Return the trials that were measured, the best first."""
        measured = [trial for trial in self._counted() if trial.value is not None]
        return sorted(measured, key=lambda trial: trial.value or 0.0)

    def _signed(self, value: float | None) -> float:
        """Return a metric for its value in the study, and the other way round."""
        return (value or 0.0) * (-1 if self._study.user_attrs.get(HIGHER) else 1)

    def _resume(self) -> None:
        """Propose again the points that an earlier command has begun and not ended."""
        for trial in self._study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            if len(trial.params) == len(self._distributions):
                self._study.enqueue_trial(trial.params)
            self._study.tell(trial.number, state=TrialState.FAIL)

    def _propose(self) -> list[tuple[Trial, Point]]:
        counted = self._counted()
        tried = {self._space.point_key(trial.params) for trial in counted}
        proposed: list[tuple[Trial, Point]] = []
        while len(proposed) < min(
            self._settings.at_once, self._settings.n_trials - len(counted)
        ) and (trial := self._new_trial(tried)):
            tried.add(self._space.point_key(trial.params))
            proposed.append((trial, self._space.point(trial.params)))
        if not proposed and len(counted) < self._settings.n_trials:
            console.say(f"all {len(tried)} points of the space have been tried")
        return proposed

    def _new_trial(self, tried: set[str]) -> Trial | None:
        """Return a trial of a point that has not been tried, or None where there is none."""
        for _ in range(PROPOSALS):
            trial = self._study.ask(self._distributions)
            if self._space.point_key(trial.params) not in tried:
                return trial
            self._study.tell(trial, state=TrialState.FAIL)
        for values in self._space.all_values():
            if self._space.point_key(values) not in tried:
                self._study.enqueue_trial(dict(values))
                return self._study.ask(self._distributions)
        return None

    def _measure(self, proposed: Sequence[tuple[Trial, Point]], executor: Executor) -> None:
        """Run the jobs of some points, and store the value of each point."""
        jobs = [self._space.jobs(point) for _, point in proposed]
        plan = Plan(tuple(job.refreshed() for job in distinct(itertools.chain(*jobs))))
        Scheduler(plan, executor, fail_fast=False).run_jobs()
        before = self._ranked()[:1]
        for (trial, point), of_point in zip(proposed, jobs, strict=True):
            self._store(trial, point, of_point)
        best = self._ranked()[:1]
        if [trial.number for trial in best] != [trial.number for trial in before]:
            self._write_best(best[0])

    def _store(self, trial: Trial, point: Point, jobs: Sequence[PlannedJob]) -> None:
        known = self._study.user_attrs.get(METRIC) or self._settings.metric
        try:
            metric = known or selection_of(jobs[0])
            value = mean_of(jobs, metric)
        except NotMeasuredError as error:
            trial.set_user_attr(ERROR, str(error))
            self._study.tell(trial, state=TrialState.FAIL)
            return
        if METRIC not in self._study.user_attrs:
            self._begin(finished(jobs[0]), metric)
        self._study.tell(trial, self._signed(value))
        console.say(
            f"{len(self._counted())}/{self._settings.n_trials} {text(point)}: {metric} {value:.4g} "
            f"(best {self._signed(self._ranked()[0].value):.4g})"
        )

    def _begin(self, summary: Summary, metric: str) -> None:
        """Store by what the points are compared."""
        self._study.set_user_attr(METRIC, metric)
        self._study.set_user_attr(HIGHER, summary.better.get(metric) == "higher")
        if metric == summary.primary:
            console.warn(
                f"{metric} is measured on the test set: the best point of a search by it looks "
                "better there than it is"
            )

    def _write_best(self, trial: FrozenTrial) -> None:
        summary = finished(self._space.jobs(self._space.point(trial.params))[0])
        reached = f"{self._study.user_attrs[METRIC]} {self._signed(trial.value):.4g}"
        path = self._folder / BEST
        path.parent.mkdir(parents=True, exist_ok=True)
        title = f"The best point of {self._folder.name}: {reached}."
        files.write_bytes(path, experiment_of(summary, title).encode())


def _drop_incomplete_line(file: Path) -> None:
    """Drop a last line that a killed process left incomplete, before more is appended to it."""
    if file.exists():
        content = file.read_bytes()
        with file.open("r+b") as opened:
            opened.truncate(content.rfind(b"\n") + 1)


def text(point: Point) -> str:
    """Return a point as it is written on the command line."""
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
