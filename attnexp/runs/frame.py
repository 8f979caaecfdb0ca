"""Runs as a tidy pandas DataFrame: a row a run, a column a setting, a metric or a fact."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from attnexp.runs.collection import collect
from attnexp.runs.key import NEUTRAL
from attnexp.runs.run import Run
from attnexp.runs.settings import GROUPS, Value, clean
from attnexp.runs.summary import Summary

RUN = ("folder", "key", "status", "primary")
"""Columns of every frame that identify the run of a row."""

UNTOLD = NEUTRAL | {"experiment"}
"""Choices that do not tell runs apart: those that change no number, and `experiment`, which only
sets other settings, which are columns themselves."""

FACTS: Mapping[str, Callable[[Summary], Value]] = {
    "results_version": lambda run: run.results_version,
    "parameters": lambda run: run.parameters,
    "seconds": lambda run: run.seconds,
    "peak_memory_mb": lambda run: run.peak_memory_mb,
    "device": lambda run: run.device,
    "started": lambda run: run.started,
    "ended": lambda run: run.ended,
    "error": lambda run: run.error,
    "tuned": lambda run: str(run.tuning) if run.tuning and not run.tuning.trial else None,
    "trial": lambda run: run.tuning.trial if run.tuning else False,
    "attnexp": lambda run: run.versions.get("attnexp"),
    "torch": lambda run: run.versions.get("torch"),
    "commit": lambda run: run.git.commit if run.git else None,
    "dirty": lambda run: run.git.dirty if run.git else None,
}
"""Columns of every frame that say how a run came about."""


@dataclass(frozen=True)
class Frame:
    """A DataFrame of runs, and what its columns are.

    `choices` are the columns with the names chosen in the groups, `settings` those with a
    setting by dotted path, `metrics` those with a metric. `better` is the direction of each metric
    that ranks, `units` the unit of each that has one. `tuned` are the settings that were tuned.
    """

    table: pd.DataFrame
    choices: tuple[str, ...]
    settings: tuple[str, ...]
    metrics: tuple[str, ...]
    better: dict[str, str]
    units: dict[str, str]
    tuned: frozenset[str]

    @property
    def factors(self) -> tuple[str, ...]:
        """The choices and settings, without the seed."""
        return (*self.choices, *self.settings)

    @cached_property
    def _columns(self) -> dict[str, NDArray[Any]]:
        return {}

    def column(self, name: str) -> NDArray[Any]:
        """Return a column as an array: of floats for a metric, else of plain objects."""
        if name not in self._columns:
            own = self.table[name]
            self._columns[name] = own.to_numpy() if name in self.metrics else plain(own)
        return self._columns[name]

    @cached_property
    def several(self) -> set[str]:
        """The factors with more than one value. A missing value counts as one."""
        columns = {name: self.table[name] for name in self.factors}
        return {
            name
            for name, column in columns.items()
            if len(pd.factorize(column, use_na_sentinel=False)[1]) > 1
        }

    @cached_property
    def telling(self) -> tuple[str, ...]:
        """The factors that tell these runs apart."""
        return tuple(name for name in self.factors if name in self.several - UNTOLD)

    def only(self, chosen: NDArray[np.bool_]) -> "Frame":
        """Return the frame of the chosen rows; it has the same columns."""
        return replace(self, table=self.table[chosen])


def make_frame(runs: Sequence[Run]) -> Frame:
    """Return a frame with a row a run, in the order given; what a run does not have is missing.

    A setting or metric that is called like another column is `config.NAME` or `metrics.NAME`.
    """
    chosen = [run.choices for run in runs]
    asked = [run.settings for run in runs]
    summaries = [run.summary for run in runs]
    measured = _measured(summaries)
    choices = _in_order(_names(chosen), GROUPS)
    taken = {*choices, *FACTS, *RUN, "seed"}
    settings = _apart("config", _names(asked), taken)
    metrics = _apart("metrics", measured, taken)
    columns: dict[str, Any] = {name: [own.get(name) for own in chosen] for name in choices}
    columns["seed"] = _typed([run.seed for run in runs])
    places: dict[int, int] = {}
    place = np.array([places.setdefault(id(own), len(places)) for own in asked], dtype=int)
    different = list({id(own): own for own in asked}.values())
    for name, column in settings.items():
        # Runs of one configuration share their settings: each column is as short as these are few.
        columns[column] = pd.Series(_typed([own.get(name) for own in different])).take(place).array
    columns["status"] = [run.state for run in runs]
    for name, column in metrics.items():
        columns[column] = measured[name]
    for name, fact in FACTS.items():
        columns[name] = _typed(_cleaned(map(fact, summaries)))
    columns["primary"] = [metrics.get(str(one.primary), one.primary) for one in summaries]
    columns["key"] = [clean(one.key) for one in summaries]
    columns["folder"] = [clean(str(run.folder)) for run in runs]
    directions = {name: way for one in summaries for name, way in one.better.items()}
    units = {name: unit for one in summaries for name, unit in one.units.items()}
    return Frame(
        pd.DataFrame(columns),
        choices,
        tuple(settings.values()),
        tuple(metrics.values()),
        {column: directions[name] for name, column in metrics.items() if name in directions},
        {column: units[name] for name, column in metrics.items() if name in units},
        frozenset(name for one in summaries if one.tuning for name in one.tuning.values),
    )


def load_results(*paths: str | Path) -> pd.DataFrame:
    """Return all runs at or below the folders (`outputs` by default), a row a run.

    Columns: the choice in each group (`model`, `data`, ...), `seed`, every setting by its dotted
    path (`model.width`), `status`, the metrics by name, what the run cost (`parameters`, `seconds`,
    `peak_memory_mb`), where it ran (`device`, `torch`, `commit`, ...), `key` and `folder`.
    `frame.attrs["better"]` holds the direction of each metric that ranks. Folders that cannot be
    read are left out; `frame.attrs["skipped"]` says which and why.

    Raises RequestError for a path that is not a folder.
    """
    collected = collect(paths or ("outputs",))
    frame = make_frame(collected.runs)
    frame.table.attrs |= {"better": frame.better, "skipped": collected.skipped}
    return frame.table


def varying(frame: Frame) -> list[str]:
    """Return the choices and settings that differ between the runs.

    A setting that differs only because its group's choice does, such as the hidden size that
    `additive` alone has, is part of that choice and not counted.
    """
    found = [name for name in frame.choices if name in frame.several and name not in UNTOLD]
    for path in frame.settings:
        group = path.partition(".")[0]
        within = [group] if group in found else []
        if path in frame.several and not depends_only_on(frame.table, path, within):
            found.append(path)
    return found


def depends_only_on(table: pd.DataFrame, column: str, others: Sequence[str]) -> bool:
    """Return whether rows that agree in the other columns agree in this one."""
    before = codes(table, others)
    after = before * (len(table) + 1) + codes(table, [column])
    return len(np.unique(after)) == len(np.unique(before))


def codes(table: pd.DataFrame, columns: Sequence[str]) -> NDArray[np.int64]:
    """Return a whole number for each row, the same for rows that agree in all the columns."""
    number = np.zeros(len(table), dtype=np.int64)
    for column in columns:
        own, _ = pd.factorize(table[column], use_na_sentinel=False)
        number = np.unique(number * (len(table) + 1) + own, return_inverse=True)[1]
    return number.astype(np.int64)


def plain(column: pd.Series) -> NDArray[Any]:
    """Return the values as Python objects, with None for missing ones."""
    return column.astype(object).where(column.notna(), None).to_numpy()


def _typed(values: list[Any]) -> Any:
    """Return values for a column in which whole numbers stay whole beside missing ones."""
    types = set(map(type, values))
    if int in types and types <= {int, float, NoneType} and len(types) > 1:
        return np.array([math.nan if value is None else value for value in values], dtype=object)
    return values


def _names(several: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return all keys in an order that does not depend on the order of the runs.

    It is the order in the longest mapping, followed by what others add. Most runs have the same
    keys, so few mappings are looked at.
    """
    shapes = sorted(set(map(tuple, several)), key=lambda shape: (-len(shape), shape))
    return list(dict.fromkeys(name for shape in shapes for name in shape))


def _in_order(names: Iterable[str], first: Sequence[str]) -> tuple[str, ...]:
    found = dict.fromkeys(names)
    known = [name for name in first if name in found]
    return (*known, *(name for name in found if name not in first))


def _apart(prefix: str, names: Iterable[str], taken: set[str]) -> dict[str, str]:
    """Return a column for each name, with as many prefixes as make it unique."""
    columns: dict[str, str] = {}
    for name in dict.fromkeys(names):
        column = name
        while column in taken:
            column = f"{prefix}.{column}"
        taken.add(column)
        columns[name] = column
    return columns


def _measured(summaries: Sequence[Summary]) -> dict[str, NDArray[np.float64]]:
    """Return the metrics by name, as `Run.metrics` has them: NaN for what is not a finite number.

    A metric that no run has is left out.
    """
    found: dict[str, NDArray[np.float64]] = {}
    for name in _names(one.metrics for one in summaries):
        values = np.array([one.metrics.get(name) for one in summaries], dtype=float)
        values[np.isinf(values)] = np.nan
        own = clean(name)
        found[own] = np.where(np.isnan(values), found.get(own, np.nan), values)
    return {name: values for name, values in found.items() if not np.isnan(values).all()}


def _cleaned(values: Iterable[Value]) -> list[Value]:
    return [clean(value) if isinstance(value, str) else value for value in values]
