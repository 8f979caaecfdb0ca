"""A trial: the arguments of a sweep, the deciding number, and the size by level."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import msgspec

from attnexp.config.documents import read_document
from attnexp.config.groups import choices, first_line
from attnexp.core.errors import RequestError, none_of

GROUP = "trial"
"""The folder of trials in attnexp's configuration and in the user's."""

LevelName = Literal["quick", "default", "full"]

SEEDS: dict[LevelName, int] = {"quick": 6, "default": 10, "full": 20}
"""The number of seeds of a row. Fewer than six give no verdict."""

MINUTES: dict[LevelName, float] = {"quick": 5, "default": 15, "full": 120}
"""The default time limit of a row in a trial, in minutes."""


STEPS = "steps to escape"
"""The number that `Escapes` adds."""

TOO_SMALL, TOO_LARGE = "too_small", "too_large"
"""The numbers of values that do not work, which `Works` adds."""


class Level(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings that a level adds to a trial, and sequence lengths at which costs are measured."""

    words: list[str] = []
    lengths: list[int] = []


class Works(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Counts the values of `setting` for which the metric of a run is at least `at_least`."""

    setting: str
    at_least: float


class Escapes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Counts the steps until `column` of metrics.csv is at most `at_most`."""

    column: str
    at_most: float


class Trial(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file of a trial.

    - `source` is the publication of the task, `harder` names settings that make the trial harder.
    - `words` are arguments of `attnexp -m`, to which the level and the row add theirs.
    - `tune` are settings that are tuned for each row, at seeds that are not compared, by the number
      `tune_by` or by the task's.
    - `metric` is the deciding number, `columns` are further numbers of the card, both named as for
      `attnexp results --metric`. `probe` are interventions on each run.
    - Differences up to `equal_within` count as equal; for costs, as a share of the baseline's.
    - `launcher` runs the jobs: one by one on all cores, or as replicas, which is faster for some.
    - `of_products` are further settings for rows whose scores are products.
    - `counted` holds a threshold by column: seeds at or above the threshold are counted.
    - `works` makes the deciding number the count of values of a setting that work. Columns show the
      largest value of a seed; `too_small` and `too_large` count the values below and above all
      that work.
    - `escapes` adds the steps to escape, of the seeds that escaped.
    - `cost` trains nothing: the numbers are the time and the memory of attention by length.
    - `quick`, `default` and `full` are the levels of the trial.
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
        """The name of the deciding number."""
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
        """The metric of the file and the columns, without duplicates."""
        return list(dict.fromkeys([self.trial.metric, *self.trial.columns]))


def read_tasks(
    level: LevelName, names: Sequence[str] = (), config_dir: Path | None = None
) -> list[SizedTrial]:
    """Return the trials of a level, or of these only those in `names`.

    Raises RequestError for an unknown name, for a trial without this level, and for a file with
    other fields than a trial's.
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
