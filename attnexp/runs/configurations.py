"""Runs that differ in nothing but the seed, and what to call them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from attnexp.console import setting_text
from attnexp.runs.collection import RunSummary
from attnexp.runs.factors import varying
from attnexp.runs.files import FINISHED
from attnexp.runs.frame import make_frame
from attnexp.runs.naming import short_names
from attnexp.runs.run import StoredRun, open_run


@dataclass(frozen=True)
class Configuration:
    """Finished runs of one configuration in order of their seeds, one a seed.

    `label` says what sets it apart from those it is compared with.
    """

    label: str
    runs: tuple[StoredRun, ...]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds there are, in order."""
        return tuple(run.seed for run in self.runs)

    def with_seed(self, seed: int) -> StoredRun:
        """The run with a seed that is there."""
        return self.runs[self.seeds.index(seed)]


@dataclass(frozen=True)
class Comparison:
    """Configurations on the same data, which alone can share a picture."""

    data: str
    configurations: tuple[Configuration, ...]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds that every configuration has."""
        first, *others = (set(one.seeds) for one in self.configurations)
        return tuple(sorted(first.intersection(*others)))

    @property
    def scope(self) -> str:
        """What a title goes on with: the data, and the scoring function where all have one."""
        models = {run.model for one in self.configurations for run in one.runs}
        return (f" of {models.pop()}" if len(models) == 1 else "") + f" on {self.data}"


def seeds_by_epoch(
    one: Configuration, column: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The epochs that all runs have, and the values of the column, a row a run."""
    epochs = one.runs[0].metrics["epoch"]
    for run in one.runs[1:]:
        epochs = np.intersect1d(epochs, run.metrics["epoch"])
    rows = [run.metrics[column][np.isin(run.metrics["epoch"], epochs)] for run in one.runs]
    return epochs, np.stack(rows)


def comparisons(runs: Iterable[RunSummary]) -> list[Comparison]:
    """Finished runs, gathered by their data and then by configuration, in order of appearance.

    Where a configuration was run several times with one seed, the run that began last counts.
    """
    by_data: dict[tuple[object, ...], dict[tuple[object, ...], dict[int, RunSummary]]]
    by_data = defaultdict(lambda: defaultdict(dict))
    for run in runs:
        if run.status != FINISHED:
            continue
        data = sorted((k, v) for k, v in run.settings.items() if k.startswith("data."))
        seeds = by_data[(run.choices.get("data"), *data)][tuple(sorted(run.settings.items()))]
        before = seeds.get(run.seed)
        if before is None or _began(before) <= _began(run):
            seeds[run.seed] = run
    gathered = [
        [[seeds[seed] for seed in sorted(seeds)] for seeds in found.values()]
        for found in by_data.values()
    ]
    names = labels([found[0][0] for found in gathered], only="data")
    return [
        Comparison(name, tuple(_named(found))) for name, found in zip(names, gathered, strict=True)
    ]


def labels(runs: Sequence[RunSummary], only: str = "") -> list[str]:
    """What sets each run apart from the others: choices by their names, settings as `name=value`.

    With `only`, nothing but that group counts, and its choice is always named. A label is never
    empty: where nothing differs it is the name of the model.
    """
    frame = make_frame(runs)
    told = [path for path in varying(frame) if not only or path.partition(".")[0] == only]
    first = only or "model"
    if first in frame.choices:
        told = list(dict.fromkeys([first, *told]))
    short = short_names(told)
    rows = frame.table[told].astype(object)
    return [
        ", ".join(
            str(value) if path in frame.choices else f"{short[path]}={setting_text(value)}"
            for path, value in zip(told, row, strict=True)
            if value is not None and value == value
        )
        for row in rows.itertuples(index=False, name=None)
    ]


def _named(found: Sequence[Sequence[RunSummary]]) -> Iterable[Configuration]:
    for label, seeds in zip(labels([seeds[0] for seeds in found]), found, strict=True):
        yield Configuration(label, tuple(open_run(Path(run.folder)) for run in seeds))


def _began(run: RunSummary) -> str:
    return str(run.facts.get("started") or "")
