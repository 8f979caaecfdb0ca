"""The settings of a sweep that tunes: `hydra.sweeper` with `hydra/sweeper=tuned`."""

from collections.abc import Sequence
from dataclasses import dataclass

from attnexp.core.errors import RequestError
from attnexp.select.configurations import DATA_SEED

SEED = "seed"

VALIDATED = ("val_", "loo_", "train_")
"""The prefixes of metrics that do not use the test set."""

MOST_BEYOND = 20
"""The largest `beyond`."""


@dataclass(frozen=True)
class TuningSettings:
    """The settings of a sweep that tunes.

    - `tune` are the tuned settings as `name=values`, `seeds` the seeds of the tuning runs.
    - `metric` decides, by default the task's metric for selection, which does not use the test set.
      With another metric the task's decides among choices within `TIE` of the best.
    - `beyond` is the most numbers that are tried on each side while the best one is at an end: see
      `numbers_beyond`.
    - `finals` are further seeds, for the two best choices and each number tried after them.

    Raises RequestError for a tuned seed, a setting given twice or without values, missing seeds, a
    seed below 0 or given twice, a metric that may use the test set, and `beyond` out of range.
    """

    tune: Sequence[str]
    seeds: Sequence[int]
    metric: str | None = None
    beyond: int = 0
    finals: Sequence[int] = ()

    def __post_init__(self) -> None:
        for each in self.tune:
            name, sign, _ = each.partition("=")
            name = name.strip().lstrip("+")
            expected = "settings with values, such as optim.lr=0.001,0.01"
            _require(bool(name and sign), "tune", expected, f"'{each}'")
            expected = f"settings other than {SEED} and {DATA_SEED}"
            _require(name not in (SEED, DATA_SEED), "tune", expected, f"'{each}'")
        names = [each.partition("=")[0].strip().lstrip("+") for each in self.tune]
        _require(len({*names}) == len(names), "tune", "different settings", ", ".join(self.tune))
        seeds, finals = [*self.seeds], [*self.finals]
        for name, own in (("seeds", seeds), ("finals", finals)):
            _require(min(own, default=0) >= 0, name, "whole numbers from 0 on", own)
        _require(bool(seeds), "seeds", "one seed or more, such as [1000]", seeds)
        expected = "different from each other and from hydra.sweeper.finals"
        every = seeds + finals
        _require(len({*every}) == len(every), "seeds", expected, every)
        if self.metric is not None and not self.metric.startswith(VALIDATED):
            raise RequestError(
                f"hydra.sweeper.metric={self.metric} may be of the test set: choose by a number "
                f"that begins with {', '.join(VALIDATED)}, such as val_loss"
            )
        within = 0 <= self.beyond <= MOST_BEYOND
        _require(within, "beyond", f"a whole number from 0 to {MOST_BEYOND}", self.beyond)


def _require(fits: bool, name: str, expected: str, value: object) -> None:
    """Raise RequestError, with the name of a setting and its value, unless the value fits."""
    if not fits:
        raise RequestError(f"hydra.sweeper.{name} must be {expected}, got {value}")
