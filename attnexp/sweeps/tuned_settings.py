"""The settings of a sweep that tunes, as `hydra.sweeper` has them with `hydra/sweeper=tuned`."""

from collections.abc import Sequence
from dataclasses import dataclass

from attnexp.core.errors import RequestError
from attnexp.select.configurations import DATA_SEED

SEED = "seed"

VALIDATED = ("val_", "loo_", "train_")
"""The beginnings of numbers that the test set has no part in."""

MOST_BEYOND = 20
"""The most numbers that are tried beyond an end."""

EXAMPLE = "'hydra.sweeper.tune=[\"optim.lr=0.001,0.01\"]'"


@dataclass(frozen=True)
class TuningSettings:
    """The settings of a sweep that tunes, each of its type.

    `tune` are the tuned settings as `name=values`, `seeds` those of the tuning runs. If `metric`
    is None, it is the task's metric for selection, which does not use the test set; else the task's
    decides among choices within `TIE` of the best. Up to `beyond` numbers are tried on each side
    of `FEW` positive ones or more while the best one is at an end, in the ratio of the last two
    there. The two best are tried at the seeds `finals` too, and so is each number after them.

    Raises RequestError for a tuned seed or a word without values, without seeds, for a seed below 0
    or twice, for a metric that may be of the test set, and for `beyond` out of its range.
    """

    tune: Sequence[str]
    seeds: Sequence[int]
    metric: str | None = None
    beyond: int = 0
    finals: Sequence[int] = ()

    def __post_init__(self) -> None:
        for each in self.tune:
            name, sign, _ = each.partition("=")
            if not name.strip() or not sign:
                raise RequestError(
                    f"hydra.sweeper.tune must have settings with values, got '{each}': write it as "
                    f"in {EXAMPLE}"
                )
            if name.strip().lstrip("+") in (SEED, DATA_SEED):
                raise RequestError(
                    f"hydra.sweeper.tune must have settings that are no seed, got '{each}': "
                    "hydra.sweeper.seeds has the seeds of the runs that tune"
                )
        for name, seeds in (("seeds", self.seeds), ("finals", self.finals)):
            if any(seed < 0 for seed in seeds) or (name == "seeds" and not seeds):
                raise RequestError(
                    f"hydra.sweeper.{name} must have whole numbers from 0 on, such as [1001], got "
                    f"{list(seeds)}"
                )
        if len({*self.seeds, *self.finals}) < len(self.seeds) + len(self.finals):
            raise RequestError(
                f"hydra.sweeper.seeds={list(self.seeds)} and hydra.sweeper.finals="
                f"{list(self.finals)} have a seed twice: give each once"
            )
        if self.metric is not None and not self.metric.startswith(VALIDATED):
            raise RequestError(
                f"hydra.sweeper.metric={self.metric} may be of the test set: choose by a number "
                f"that begins with {', '.join(VALIDATED)}, such as val_loss"
            )
        if not 0 <= self.beyond <= MOST_BEYOND:
            raise RequestError(
                f"hydra.sweeper.beyond must be a whole number from 0 to {MOST_BEYOND}, "
                f"got {self.beyond}"
            )
