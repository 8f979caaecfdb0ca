"""The memory of a search: Optuna's trials, in Optuna's own file format."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from attnexp.sweeps.search.space import Dimension, Values

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler
    from optuna.storages import JournalStorage
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial

JOURNAL = "trials.journal"

NAME = "attnexp"
"""The name of the study in the file."""

REPEATED = "repeated"
"""The mark of a trial that proposed an old point. It does not count."""

ERROR = "error"
METRIC = "metric"


class Trials:
    """The trials of a search.

    The file is begun when the first point has been measured, because the direction of a study is
    fixed, and what is better only a run knows. Until then points are drawn at random.
    """

    def __init__(
        self, folder: Path, dimensions: Sequence[Dimension], sampler_seed: int, at_once: int
    ) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._file = folder / JOURNAL
        self._sampler_seed = sampler_seed
        self._at_once = at_once
        self._distributions = {each.name: each.distribution for each in dimensions}
        self._early: list[FrozenTrial] = []
        draws = optuna.samplers.RandomSampler(seed=sampler_seed)
        self._draws = optuna.create_study(sampler=draws)
        self._study: Study | None = None
        if self._file.exists():
            self._mend()
            self._study = optuna.load_study(study_name=NAME, storage=self._storage())
            self._study.sampler = self._sampler()

    @property
    def metric(self) -> str | None:
        """The metric that is searched by, where a point has been measured."""
        return None if self._study is None else str(self._study.user_attrs[METRIC])

    def counted(self) -> "list[FrozenTrial]":
        """The trials that have ended, without those that proposed an old point."""
        from optuna.trial import TrialState

        ended = (TrialState.COMPLETE, TrialState.FAIL)
        return [trial for trial in self._all() if trial.state in ended]

    def unfinished(self) -> "list[FrozenTrial]":
        """The trials that an earlier command has begun and not ended."""
        from optuna.trial import TrialState

        return [trial for trial in self._all() if trial.state == TrialState.RUNNING]

    def best(self) -> "FrozenTrial | None":
        """The best trial, or None where nothing has been measured."""
        ranked = self.ranked()
        return ranked[0] if ranked else None

    def ranked(self) -> "list[FrozenTrial]":
        """The trials that were measured, the best first."""
        from optuna.study import StudyDirection

        if self._study is None:
            return []
        measured = [trial for trial in self.counted() if trial.value is not None]
        higher = self._study.direction == StudyDirection.MAXIMIZE
        return sorted(measured, key=lambda trial: trial.value or 0.0, reverse=higher)

    def ask(self) -> "Trial":
        """A trial with the values that are proposed next."""
        study = self._draws if self._study is None else self._study
        return study.ask(self._distributions)

    def ask_for(self, values: Values) -> "Trial":
        """A trial with these values."""
        study = self._draws if self._study is None else self._study
        study.enqueue_trial(dict(values))
        return study.ask(self._distributions)

    def refuse(self, trial: "Trial") -> None:
        """Mark a trial as one that proposed an old point."""
        trial.set_user_attr(REPEATED, True)
        self._end(trial, None)

    def measured(
        self, trial: "Trial", value: float, metric: str, better: Literal["lower", "higher"]
    ) -> None:
        """Remember how good the point of a trial is."""
        if self._study is None:
            self._begin(metric, better)
        self._end(trial, value)

    def failed(self, trial: "Trial", error: str) -> None:
        """Remember that the point of a trial could not be measured."""
        trial.set_user_attr(ERROR, error)
        self._end(trial, None)

    def resumed(self, trial: "FrozenTrial") -> "Trial":
        """A trial of an earlier command, to be ended by this one."""
        from optuna.trial import Trial

        assert self._study is not None
        return Trial(self._study, trial._trial_id)

    def _all(self) -> "list[FrozenTrial]":
        trials = self._early if self._study is None else self._study.get_trials(deepcopy=False)
        return [trial for trial in trials if REPEATED not in trial.user_attrs]

    def _end(self, trial: "Trial", value: float | None) -> None:
        from optuna.trial import TrialState

        state = TrialState.FAIL if value is None else TrialState.COMPLETE
        if trial.study is self._study:
            self._study.tell(trial.number, value, state)
            return
        ended = self._draws.tell(trial.number, value, state)
        if self._study is None:
            self._early.append(ended)
        else:
            self._study.add_trial(ended)

    def _begin(self, metric: str, better: Literal["lower", "higher"]) -> None:
        import optuna

        self._study = optuna.create_study(
            study_name=NAME,
            storage=self._storage(),
            direction="minimize" if better == "lower" else "maximize",
        )
        self._study.set_user_attr(METRIC, metric)
        for trial in self._early:
            self._study.add_trial(trial)
        self._study.sampler = self._sampler()

    def _sampler(self) -> "BaseSampler":
        """A sampler that does not begin with what was proposed before."""
        from optuna.samplers import TPESampler

        assert self._study is not None
        seed = self._sampler_seed + 1 + len(self._study.get_trials(deepcopy=False))
        return TPESampler(seed=seed, constant_liar=self._at_once > 1)

    def _storage(self) -> "JournalStorage":
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

        class Held(JournalFileOpenLock):
            """The folder's lock is held already, and Optuna's would outlive a killed process."""

            def acquire(self) -> bool:
                return True

            def release(self) -> None:
                pass

        return JournalStorage(JournalFileBackend(str(self._file), lock_obj=Held(str(self._file))))

    def _mend(self) -> None:
        """Drop a last line that was cut short: what is appended to it could not be read."""
        content = self._file.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if whole != content:
            with self._file.open("r+b") as file:
                file.truncate(len(whole))


def error_of(trial: "FrozenTrial") -> str:
    """Why a trial could not be measured."""
    attributes: Mapping[str, object] = trial.user_attrs
    return str(attributes.get(ERROR, "no reason is known"))
