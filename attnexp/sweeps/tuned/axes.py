"""The axes of a sweep that tunes: tuned settings, compared settings, and seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attnexp.core.errors import RequestError
from attnexp.select.configurations import DATA_SEED
from attnexp.sweeps.overrides import Axis, Override, expand
from attnexp.sweeps.plan import Composer
from attnexp.sweeps.search import FEW, Choice, number, numbers_beyond
from attnexp.sweeps.tuned.settings import SEED, TuningSettings

Case = tuple[Choice, Override | None]
"""A configuration, and the compared seed whose split of a file it is tuned on; None for all."""


@dataclass(frozen=True)
class TunedAxes:
    """The axes of a sweep that tunes.

    `every` are the axes of a job's command line, in order. Among these, `tuned` are the tuned axes,
    with first values `starts` by name, and `fixed` the others, without seeds. `compared` are the
    compared seeds, and `seeds` the seeds of tuning runs, the finals last.
    """

    every: Sequence[Axis]
    tuned: Sequence[Axis]
    fixed: Sequence[Axis]
    starts: Mapping[str, Sequence[Override]]
    compared: Sequence[Override]
    seeds: Sequence[Override]

    @classmethod
    def of(
        cls, composer: Composer, arguments: Sequence[str], settings: TuningSettings
    ) -> "TunedAxes":
        """Return the axes that the arguments of a sweep span.

        Raises RequestError if there is nothing to tune, if a seed would both tune and be compared,
        and for `beyond` without positive numbers.
        """
        parsed = composer.parse([*settings.tune, *arguments])
        given = {name: expand(each) for name, each in parsed.items()}
        compared = given.pop(SEED, _seeds([composer.config.seed]))
        seeds = _seeds([*settings.seeds, *settings.finals])
        if shared := {each.text for each in compared} & {each.text for each in seeds}:
            raise RequestError(
                f"{', '.join(sorted(shared))} would both tune and be compared: choose other seeds "
                "with hydra.sweeper.seeds"
            )
        names = composer.parse(settings.tune)
        starts = {name: given[name] for name in names if _differ(given[name])}
        if not starts:
            raise RequestError(
                "there is nothing to tune: give a setting several values, as in "
                "'hydra.sweeper.tune=[\"optim.lr=0.001,0.01\"]', or choose hydra/sweeper=attnexp"
            )
        beyond = settings.beyond
        numbers = {name: (*own, *_further(name, own, beyond)) for name, own in starts.items()}
        if beyond and numbers == starts:
            raise RequestError(
                f"hydra.sweeper.beyond={beyond} needs {FEW} positive numbers or more of a tuned "
                f"setting, not all of them whole, got {' '.join(settings.tune)}"
            )
        # Where data_seed is not given, tuning runs may take that of a compared seed.
        data = {DATA_SEED: tuple(map(data_of, (None, *compared)))}
        every = composer.axes_of({**data, **given, **numbers, SEED: (*compared, *seeds)})
        tuned = [axis for axis in every if axis.name in starts]
        fixed = [axis for axis in every if axis.name in given and axis not in tuned]
        return cls(every, tuned, fixed, starts, compared, seeds)

    def line(self, case: Case, choice: Choice, seed: Override) -> tuple[Override, ...]:
        """Return the overrides of a job: of a case, a choice of tuned values, and a seed."""
        configuration, split = case
        axes, values = (*self.fixed, *self.tuned), (*configuration, *choice)
        own = {DATA_SEED: data_of(split), SEED: seed}
        own |= {axis.name: each for axis, each in zip(axes, values, strict=True)}
        return tuple(own[axis.name] for axis in self.every)

    def varying(self, configuration: Choice) -> dict[str, Override]:
        """Return the overrides of a configuration that vary in the sweep, by name."""
        pairs = zip(self.fixed, configuration, strict=True)
        return {axis.name: each for axis, each in pairs if len(axis.overrides) > 1}

    def label(self, configuration: Choice) -> str:
        """Return the overrides of a configuration that vary in the sweep, as text."""
        words = [each.text for each in self.varying(configuration).values()]
        return " ".join(words) or "this configuration"


def _differ(values: Sequence[Override]) -> bool:
    """Return whether there are two different values or more."""
    return len({str(each.value or each.text) for each in values}) > 1


def data_of(split: Override | None) -> Override:
    """Return the override of `data_seed`: the seed `split`, or null, which is the run's seed."""
    if split is None:
        return Override(f"{DATA_SEED}=null", (None,))
    return Override(f"{DATA_SEED}={split.typed}", split.value)


def _seeds(seeds: Sequence[int]) -> tuple[Override, ...]:
    return tuple(Override(f"{SEED}={seed}", (seed,)) for seed in seeds)


def _further(name: str, given: Sequence[Override], beyond: int) -> list[Override]:
    """Return the overrides of `numbers_beyond`."""
    numbers = numbers_beyond([*map(number, given)], beyond)
    return [Override(f"{name}={each:g}", (each,)) for each in numbers]
