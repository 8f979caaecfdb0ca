"""Configurations: runs that differ in nothing but the seed, and labels for them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median, pstdev
from typing import Any, NamedTuple

import numpy as np

from attnexp.core.console import setting_text
from attnexp.core.errors import RequestError
from attnexp.core.language import Phrase, Text, said
from attnexp.runs.folder import Run
from attnexp.select.frame import Frame, make_frame, varying
from attnexp.select.names import short_names
from attnexp.select.order import UNRANKED, ranking, sort_runs

DATA_SEED = "data_seed"


@dataclass(frozen=True)
class Configuration:
    """Finished runs of one configuration in order of their seeds, one per seed.

    `label` names the differences from the other configurations of the comparison.
    """

    label: str
    runs: tuple[Run, ...]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the runs, in order."""
        return tuple(run.seed for run in self.runs)

    def with_seed(self, seed: int) -> Run:
        """Return the run with a seed; there must be one."""
        return self.runs[self.seeds.index(seed)]


class Replaced(NamedTuple):
    """An older run, and the newer run of the same settings and seed that replaces it."""

    run: Run
    by: Run


@dataclass(frozen=True)
class Comparison:
    """Configurations on the same data, which can share a picture."""

    data: str
    configurations: tuple[Configuration, ...]

    @classmethod
    def of(cls, run: Run) -> "Comparison":
        """Return the comparison of a single run."""
        return cls(run.data, (Configuration("", (run,)),))

    @property
    def alone(self) -> Run | None:
        """The run, if there is only one."""
        runs = [run for one in self.configurations for run in one.runs]
        return runs[0] if len(runs) == 1 else None

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds that every configuration has."""
        first, *others = (set(one.seeds) for one in self.configurations)
        return tuple(sorted(first.intersection(*others)))

    @property
    def typical_seed(self) -> int:
        """The common seed whose primary metrics are nearest to their medians; there must be one.

        The distance of a seed is summed over the configurations, in standard deviations.
        """
        distances = dict.fromkeys(self.seeds, 0.0)
        for one in self.configurations:
            runs = {seed: one.with_seed(seed) for seed in distances}
            values = {s: run.metrics.get(str(run.summary.primary)) for s, run in runs.items()}
            known = [value for value in values.values() if value is not None]
            if not known:
                continue
            middle, sd = median(known), pstdev(known) or 1.0
            for seed, value in values.items():
                distances[seed] += math.inf if value is None else abs(value - middle) / sd
        return min(distances, key=lambda seed: (distances[seed], seed))

    def titled(self, shown: Phrase) -> Text:
        """Return a title with the data, and the scoring function if all runs have the same."""
        models = {run.model for one in self.configurations for run in one.runs}
        if len(models) > 1:
            return said("{shown} on {data}", shown=shown, data=self.data)
        return said("{shown} of {model} on {data}", shown=shown, model=models.pop(), data=self.data)


def best_runs(
    frame: Frame, metrics: Sequence[str], sort: str | None, number: int
) -> tuple[Frame, list[str]]:
    """Return the `number` best runs on each data, best first, and the metrics that rank them.

    The metric is `sort` if that is a metric that ranks, else the first of `metrics`, else the
    primary metric. Tuning runs and runs without a value are left out. Raises RequestError if the
    metric does not rank, and if no run has a value.
    """
    frame = without_tuning_runs(frame)[0]
    asked = [sort] if sort in frame.better else metrics[:1]
    data = differing_data(frame)
    best: list[int] = []
    ranked: dict[str, None] = {}
    for own in frame.groups([*data, *([] if asked else ["primary"])]):
        if by := asked or [name for name in own.data["primary"][:1] if name]:
            metric = ranking(by, None, frame.better)
            measured = sort_runs(own, metric).data[metric].astype(float)
            first = measured.index[np.isfinite(measured)][:number]
            best.extend(first)
            ranked |= dict.fromkeys([metric] if len(first) else [])
    if not best:
        raise RequestError(UNRANKED)
    return replace(frame, data=frame.data.loc[best]), list(ranked)


def without_repeats(frame: Frame, by: Iterable[str] = ()) -> tuple[Frame, list[Replaced]]:
    """Return the newest run of each set of settings and seed, if possible a finished run.

    Of imported runs the last imported counts, finished or not; a run of attnexp's own is newer.
    Runs that differ in a column of `by` are of different sets. Also returns the older runs.
    """
    names = dict.fromkeys([*frame.differing, *by, "seed"])
    same = frame.groupby(names).ngroup().tolist()
    finished = (frame.data["status"] == "finished").tolist()
    imported = [when or "" for when in frame.data["imported"]]
    started = [when or "" for when in frame.data["started"]]
    last = {same[i]: i for _, i in sorted((when, i) for i, when in enumerate(imported) if when)}
    places = [i for i, when in enumerate(imported) if not when or last[same[i]] == i]
    ages = sorted((finished[i], not imported[i], started[i], i) for i in places)
    newest = {same[i]: i for *_, i in ages}
    runs = frame.runs
    older = [Replaced(runs[i], runs[newest[own]]) for i, own in enumerate(same) if newest[own] != i]
    return frame.only(np.array(sorted(newest.values()), dtype=int)), older


def without_tuning_runs(frame: Frame) -> tuple[Frame, int]:
    """Return the frame without tuning runs, and the number of tuning runs.

    Tuning runs decided which settings are compared, so they are not results. If there are no other
    runs, they are kept.
    """
    tuning = frame.data["tuning_run"].astype(bool)
    if tuning.all() or not tuning.any():
        return frame, 0
    return frame.only(~tuning), int(tuning.sum())


def comparisons(runs: Sequence[Run]) -> list[Comparison]:
    """Return finished runs, grouped by data and then by configuration.

    Both are in natural order of their choices and settings.
    """
    frame = make_frame([run for run in runs if run.finished])
    frame = sort_runs(without_repeats(without_tuning_runs(frame)[0])[0], by=None)
    on_data = [*filter(is_data, frame.differing)]
    names = labels(frame.first_of_each(on_data), of_data=True)
    return [
        Comparison(name, tuple(_named(own, frame.differing)))
        for name, own in zip(names, frame.groups(on_data), strict=True)
    ]


def differing_data(frame: Frame) -> list[str]:
    """Return the columns of the data in which runs differ, without `data_seed`."""
    return [name for name in frame.differing if is_data(name) and name != DATA_SEED]


def is_data(name: str) -> bool:
    """Return whether a column is a choice or setting of the data."""
    return name == DATA_SEED or name.partition(".")[0] == "data"


def labels(frame: Frame, of_data: bool = False) -> list[str]:
    """Return the differences of each run: choices by their names, settings as `name=value`.

    The label begins with the model, or, with `of_data`, with the choice of data, followed by the
    settings of the data only.
    """
    paths = [path for path in varying(frame) if not of_data or is_data(path)]
    first = "data" if of_data else "model"
    if first in frame.choices:
        paths = list(dict.fromkeys([first, *paths]))
    rows = [dict(zip(paths, row, strict=True)) for row in frame.data[paths].to_numpy()]
    short = short_names(paths)
    return [label(frame, row, run, short) for row, run in zip(rows, frame.runs, strict=True)]


def label(frame: Frame, values: Mapping[str, Any], run: Run, short: Mapping[str, str]) -> str:
    """Return choices by their names and settings as `name=value`, by `short` names and renamed.

    Settings that the run lacks are left out, and so is `data_seed` if null. Other settings that are
    null are written.
    """
    text = ", ".join(
        str(value) if path in frame.choices else f"{short[path]}={setting_text(value)}"
        for path, value in values.items()
        if value is not None or (run.settings.get(path, path) is None and path != DATA_SEED)
    )
    return frame.renaming(text)


def _named(frame: Frame, differing: Sequence[str]) -> Iterable[Configuration]:
    """Yield the configurations of a frame: the groups of runs that agree in these columns."""
    names = labels(frame.first_of_each(differing))
    for name, own in zip(names, frame.groups(differing), strict=True):
        yield Configuration(name, tuple(sorted(own.runs, key=lambda run: run.seed)))
