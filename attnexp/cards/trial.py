"""A trial: the words of a sweep, the number that decides, and its size by level."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import msgspec

from attnexp.config.documents import read_document
from attnexp.config.groups import choices, first_line
from attnexp.core.errors import RequestError, none_of

GROUP = "trial"
"""The folder of the trials, in attnexp's configuration and in one of your own."""

LevelName = Literal["quick", "default", "full"]

SEEDS: dict[LevelName, int] = {"quick": 6, "default": 10, "full": 20}
"""The seeds of each row. Six are the fewest with a verdict."""

MINUTES: dict[LevelName, float] = {"quick": 5, "default": 15, "full": 120}
"""The most minutes that one row of one trial may take."""


STEPS = "steps to escape"
"""The name of the number that `Escapes` gives."""

TOO_SMALL, TOO_LARGE = "too_small", "too_large"
"""The names of the numbers that `Works` gives of the values that do not work."""


class Level(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings by which a level changes a trial, and the lengths at which it measures costs."""

    words: list[str] = []
    lengths: list[int] = []


class Works(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Counts the values of a `setting` at which the metric of a run is `at_least` this."""

    setting: str
    at_least: float


class Escapes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Counts the steps until a `column` of metrics.csv is `at_most` this."""

    column: str
    at_most: float


class Trial(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file of a trial.

    - `source` is the publication of the task, `harder` names the settings that make it harder.
    - `words` are settings of `attnexp -m`, to which a level and a row add theirs; `tune` are the
      settings that are tuned for each row, at seeds that are not compared, by the number `tune_by`
      or by that of the task.
    - `metric` decides, `columns` are shown, `probe` are interventions that are made on each run.
      Both are numbers by one word, as `attnexp results --metric` takes them.
    - Differences up to `equal_within` count as equal; of costs it is a share of the baseline's.
    - `launcher` runs the jobs: one by one on all cores, or as replicas, which is faster for some.
    - `of_products` are settings that rows get whose score is made of products.
    - `counted` are columns with the least value at which a seed is counted.
    - With `works` the number that decides is how many values of a setting work, and the others are
      the largest of a seed. The columns `too_small` and `too_large` count the values below and
      above all that work.
    - With `escapes` the steps to escape are shown, of the seeds that did.
    - With `cost` nothing is trained: the number is the time of forward and backward at a length.
    - `quick`, `default` and `full` are the levels that have the trial.
    """

    source: str
    metric: str
    equal_within: float
    words: list[str] = []
    harder: list[str] = []
    tune: list[str] = []
    tune_by: str | None = None
    of_products: list[str] = []
    columns: list[str] = []
    counted: dict[str, float] = {}
    probe: list[str] = []
    launcher: Literal["parallel", "batched"] = "parallel"
    works: Works | None = None
    escapes: Escapes | None = None
    cost: bool = False
    quick: Level | None = None
    default: Level | None = None
    full: Level | None = None


@dataclass(frozen=True)
class SizedTrial:
    """A trial at a level: its name, its question and its file."""

    name: str
    asks: str
    trial: Trial
    level: Level

    @property
    def words(self) -> list[str]:
        """The settings of the trial at this level."""
        return [*self.trial.words, *self.level.words]

    @property
    def metric(self) -> str:
        """The name of the number that decides."""
        works = self.trial.works
        return self.trial.metric if works is None else f"values of {works.setting} that work"

    @property
    def runs_per_seed(self) -> int:
        """The number of compared runs of a row at each seed."""
        if self.trial.works is None:
            return 1
        name = f"{self.trial.works.setting}="
        (values,) = (word for word in self.words if word.startswith(name))
        return values.count(",") + 1

    @property
    def numbers(self) -> list[str]:
        """The words of all numbers, the one that decides first."""
        return list(dict.fromkeys([self.trial.metric, *self.trial.columns]))


def read_tasks(
    level: LevelName, names: Sequence[str] = (), config_dir: Path | None = None
) -> list[SizedTrial]:
    """Return the trials of a level, all or those that are named.

    Raises RequestError for an unknown name, for a trial that the level does not have, and for a
    file without the fields of a trial.
    """
    files = {choice.name: choice.path for choice in choices(GROUP, config_dir)}
    found = {name: read_document(path, Trial) for name, path in files.items()}
    there = {name: size for name, each in found.items() if (size := getattr(each, level))}
    for name in names:
        if name not in files:
            raise RequestError(f"--trials: {none_of(name, files)}")
        if name not in there:
            levels = [each for each in get_args(LevelName) if getattr(found[name], each)]
            raise RequestError(f"--trials: {name} is in --{' and --'.join(levels)}, not --{level}")
    return [
        SizedTrial(name, first_line(files[name]), found[name], there[name])
        for name in dict.fromkeys(names) or sorted(there, key=lambda name: (found[name].cost, name))
    ]
