"""The stored trials of a search, in the file format of Optuna's journal storage."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import optuna
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, Trial, TrialState

from attnexp.errors import RequestError
from attnexp.runs.files import MIB, UnreadableRunError, open_regular
from attnexp.sweeps.search.space import Dimension, Values

JOURNAL = "trials.journal"

NAME = "attnexp"
"""The name of the study in the file."""

MOST = 256 * MIB
"""Bytes of a journal that are read; a thousand points have a hundredth of that."""

REPEATED = "repeated"
"""The attribute of a trial that proposed an old point. Such trials are not counted."""

ERROR = "error"
METRIC = "metric"


class NoLock(JournalFileOpenLock):
    """Does nothing. The search holds its folder's lock; Optuna's would outlive a killed process."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        pass


class TrialStore:
    """The trials of a search.

    The direction of a study in the file is fixed, and only a run tells whether its metric is
    better when lower or higher. The file is therefore created when the first point has been
    measured; until then points are sampled at random.
    """

    def __init__(
        self, folder: Path, dimensions: Sequence[Dimension], sampler_seed: int, at_once: int
    ) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._file = folder / JOURNAL
        self._sampler_seed = sampler_seed
        self._at_once = at_once
        self._distributions = {each.name: each.distribution for each in dimensions}
        self._early: list[FrozenTrial] = []
        random = RandomSampler(seed=sampler_seed)
        self._random_study = optuna.create_study(sampler=random)
        self._study: Study | None = None
        if os.path.lexists(self._file):
            self._study = self._loaded()
            self._study.sampler = self._sampler()

    @property
    def metric(self) -> str | None:
        """The metric of the search, or None before a point has been measured."""
        return None if self._study is None else str(self._study.user_attrs[METRIC])

    def mend(self) -> None:
        """Drop a last line that a killed process left incomplete, before more is appended to it.

        The caller holds the lock of the folder.
        """
        if self._study is None:
            return
        content = self._file.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if whole != content:
            with self._file.open("r+b") as file:
                file.truncate(len(whole))

    def counted(self) -> list[FrozenTrial]:
        """Return the trials that have ended, without those that proposed an old point."""
        ended = (TrialState.COMPLETE, TrialState.FAIL)
        return [trial for trial in self._all() if trial.state in ended]

    def unfinished(self) -> list[FrozenTrial]:
        """Return the trials that an earlier command has begun and not ended."""
        return [trial for trial in self._all() if trial.state == TrialState.RUNNING]

    def best(self) -> FrozenTrial | None:
        """Return the best trial, or None where no point has been measured."""
        return next(iter(self.ranked()), None)

    def ranked(self) -> list[FrozenTrial]:
        """Return the trials that were measured, the best first."""
        if self._study is None:
            return []
        measured = [trial for trial in self.counted() if trial.value is not None]
        higher = self._study.direction == StudyDirection.MAXIMIZE
        return sorted(measured, key=lambda trial: trial.value or 0.0, reverse=higher)

    def ask(self, values: Values | None = None) -> Trial:
        """Return a new trial with these values, or with values that the sampler proposes."""
        study = self._study or self._random_study
        if values is not None:
            study.enqueue_trial(dict(values))
        return study.ask(self._distributions)

    def reject(self, trial: Trial) -> None:
        """End a trial that proposed an old point."""
        trial.set_user_attr(REPEATED, True)
        self._end(trial, None)

    def measured(
        self, trial: Trial, value: float, metric: str, better: Literal["lower", "higher"]
    ) -> None:
        """End a trial with the value of its point."""
        if self._study is None:
            self._create(metric, better)
        self._end(trial, value)

    def failed(self, trial: Trial, error: str) -> None:
        """End a trial whose point could not be measured."""
        trial.set_user_attr(ERROR, error)
        self._end(trial, None)

    def resumed(self, trial: FrozenTrial) -> Trial:
        """Return a trial of an earlier command in the form that this one can end."""
        assert self._study is not None
        return Trial(self._study, trial._trial_id)

    def _all(self) -> list[FrozenTrial]:
        trials = self._early if self._study is None else self._study.get_trials(deepcopy=False)
        return [trial for trial in trials if REPEATED not in trial.user_attrs]

    def _end(self, trial: Trial, value: float | None) -> None:
        state = TrialState.FAIL if value is None else TrialState.COMPLETE
        if trial.study is self._study:
            self._study.tell(trial.number, value, state)
            return
        ended = self._random_study.tell(trial.number, value, state)
        if self._study is None:
            self._early.append(ended)
        else:
            self._study.add_trial(ended)

    def _create(self, metric: str, better: Literal["lower", "higher"]) -> None:
        self._study = optuna.create_study(
            study_name=NAME,
            storage=self._storage(),
            direction="minimize" if better == "lower" else "maximize",
        )
        self._study.set_user_attr(METRIC, metric)
        for trial in self._early:
            self._study.add_trial(trial)
        self._study.sampler = self._sampler()

    def _sampler(self) -> BaseSampler:
        """Return a sampler that does not repeat the proposals of earlier commands."""
        assert self._study is not None
        seed = self._sampler_seed + 1 + len(self._study.get_trials(deepcopy=False))
        return TPESampler(seed=seed, constant_liar=self._at_once > 1)

    def _storage(self) -> JournalStorage:
        file = str(self._file)
        return JournalStorage(JournalFileBackend(file, lock_obj=NoLock(file)))

    def _loaded(self) -> Study:
        """Return the study of the file. Raises RequestError for what no such search has written.

        The file is lines of JSON; nothing in it is code. What it says of the space must be what the
        command line says, because its values become settings.
        """
        try:
            file, _ = open_regular(self._file, MOST)
            os.close(file)
        except UnreadableRunError as error:
            raise RequestError(str(error)) from error
        try:
            study = optuna.load_study(study_name=NAME, storage=self._storage())
            if len(study.directions) != 1:
                raise ValueError("it has several values a point")
            if not isinstance(study.user_attrs[METRIC], str):
                raise TypeError("its metric is not a name")
            for trial in study.get_trials(deepcopy=False):
                self._check(trial)
        except OSError:
            raise
        except Exception as error:  # Optuna checks little of what it reads
            why = f"{type(error).__name__}: {error}"
            raise RequestError(
                f"{self._file} is not the journal of this search ({why:.120}): move it away"
            ) from error
        return study

    def _check(self, trial: FrozenTrial) -> None:
        """Raise ValueError for a trial with other values than the space has.

        `fixed_params` are values that Optuna takes for a trial that waits to be begun.
        """
        given = {**trial.system_attrs.get("fixed_params", {}), **trial.params}
        for name, value in given.items():
            own = self._distributions[name]
            number = own.to_internal_repr(value)
            same = own._contains(number) and own.to_external_repr(number) == value
            if not same or trial.distributions.get(name, own) != own:
                raise ValueError(f"it has other values of {name:.60}")


def error_of(trial: FrozenTrial) -> str:
    """Return the reason why the point of a trial could not be measured."""
    return str(trial.user_attrs.get(ERROR, "no reason is known"))
