"""Runs as a DataFrame: one row per run, one column per setting, metric or fact.

pandas is imported when a frame is made: a run and its pictures need none.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from attnexp.core.console import setting_text
from attnexp.runs.files import LARGEST
from attnexp.runs.folder import Run
from attnexp.runs.key import NEUTRAL, RESULTS_VERSION
from attnexp.runs.run_status import Status
from attnexp.runs.settings import GROUPS, Value, clean
from attnexp.runs.summary import Summary
from attnexp.runs.user_code import code_digits
from attnexp.select.collect import collect_asked
from attnexp.select.names import short_names
from attnexp.select.renaming import KEPT, Renaming

if TYPE_CHECKING:
    import pandas as pd
    from pandas.core.groupby import DataFrameGroupBy

RUN = ("folder", "key", "status", "primary")
"""Columns of every frame that identify a run."""

IGNORED_CHOICES = NEUTRAL | {"experiment"}
"""Choices by which runs are not compared: neutral choices, and `experiment`, whose settings are
columns."""

OF_TRAINING = ("optim.", "schedule.", "train.")
"""Prefixes of settings that have no effect without parameters to train."""

FACTS: Mapping[str, Callable[[Summary], Value]] = {
    "results_version": lambda run: run.results_version,
    "parameters": lambda run: run.parameters,
    "seconds": lambda run: run.seconds,
    "peak_memory_mb": lambda run: run.peak_memory_mb,
    "overlap": lambda run: run.overlap,
    "fixed_by": lambda run: run.fixed_by,
    "device": lambda run: run.device,
    "batched": lambda run: run.config.get("batched"),
    "name": lambda run: run.name,
    "imported": lambda run: run.imported_at,
    "started": lambda run: run.started,
    "ended": lambda run: run.ended,
    "error": lambda run: run.error,
    "diverged": lambda run: run.diverged,
    "tuned": lambda run: str(run.tuning) if run.tuning and not run.tuning.tuning_run else None,
    "tuning_run": lambda run: run.tuning.tuning_run if run.tuning else False,
    "attnexp": lambda run: run.versions.get("attnexp"),
    "torch": lambda run: run.versions.get("torch"),
    "code": lambda run: code_digits(run.code),
    "commit": lambda run: run.git.commit[:10] if run.git else None,
    "dirty": lambda run: run.git.dirty if run.git else None,
}
"""Columns of every frame on the cost, place and origin of a run."""

OF_CODE = ("code", "commit")
"""The facts that may divide rows: the user's own code, and the commit of the user's checkout."""


@dataclass(frozen=True)
class Frame:
    """Runs as the rows of a DataFrame, and what its columns are.

    `data` has a row per run; the index is the place of the run in `loaded`, which holds every run
    that was read. Metrics are columns of floats, NaN where missing; other columns are of dtype
    object, None where missing. `choices`, `settings` and `metrics` are the columns with the choice
    in each group, with the settings by dotted path, and with the metrics. `better` is the direction
    of each metric that ranks, `units` the unit of a metric, `companions` the metrics shown next to
    a metric, by head. `tuned` are the tuned settings, `renaming` the names that readers see.
    """

    data: "pd.DataFrame"
    loaded: Sequence[Run]
    choices: tuple[str, ...]
    settings: tuple[str, ...]
    metrics: tuple[str, ...]
    better: dict[str, str]
    units: dict[str, str]
    companions: dict[str, dict[str, str]]
    tuned: frozenset[str]
    renaming: Renaming = KEPT

    def __len__(self) -> int:
        return len(self.data)

    @property
    def runs(self) -> list[Run]:
        """The run of each row."""
        return [self.loaded[place] for place in self.data.index]

    @property
    def names(self) -> list[str]:
        """The names of all columns."""
        return [*map(str, self.data)]

    @cached_property
    def finished(self) -> NDArray[np.bool_]:
        """Which runs have finished."""
        return (self.data["status"] == Status.FINISHED).to_numpy()

    @property
    def factors(self) -> tuple[str, ...]:
        """The choices and settings, without the seed."""
        return (*self.choices, *self.settings)

    @cached_property
    def several(self) -> set[str]:
        """The factors with more than one value. A missing value counts as one."""
        return {name for name in self.factors if numbers_of_values(self.data[name]).any()}

    @cached_property
    def tuned_by_split(self) -> frozenset[str]:
        """The settings that were tuned for each seed separately, if so in all runs.

        These are not part of a configuration, as they differ between its seeds.
        """
        if not self.tuned:
            return frozenset()
        ways = [run.summary.tuning for run in self.runs]
        compared = [way for way in ways if way is None or not way.tuning_run]
        if not compared or not all(way is not None and way.by_split for way in compared):
            return frozenset()
        return frozenset(name for way in compared if way is not None for name in way.values)

    @cached_property
    def differing(self) -> tuple[str, ...]:
        """The factors in which runs differ, without `IGNORED_CHOICES` and `tuned_by_split`."""
        left_out = (IGNORED_CHOICES & {*self.choices}) | self.tuned_by_split
        kept = self.several - left_out
        return tuple(name for name in self.factors if name in kept)

    def shown(self, name: str, value: Any) -> Any:
        """Return the value of a column as readers see it: renamed, if it has another name."""
        if not self.renaming or value is None or name not in (*self.factors, *OF_CODE, "primary"):
            return value
        if name == "primary":
            return self.renaming.title(value)
        text = str(value) if name in self.choices else f"{name}={setting_text(value)}"
        renamed = self.renaming.parts(text)
        return value if renamed == text else renamed

    def titles(self, names: Iterable[str]) -> dict[str, str]:
        """Return the heads of columns: their other names, or else short names."""
        return {
            name: short if (title := self.renaming.title(name)) == name else title
            for name, short in short_names(names).items()
        }

    def shown_column(self, name: str) -> list[Any]:
        """Return the values of a column as readers see them."""
        return [self.shown(name, value) for value in self.data[name]]

    def only(self, chosen: "NDArray[Any] | pd.Series[bool]") -> "Frame":
        """Return the frame of the chosen rows, a mask or places."""
        rows = np.asarray(chosen)
        return replace(self, data=self.data[rows] if rows.dtype == bool else self.data.iloc[rows])

    def groupby(self, names: Iterable[str]) -> "DataFrameGroupBy[Any, Any]":
        """Return the rows grouped by the values of columns, in order of appearance.

        Missing values are a group, too. Without columns there is one group.
        """
        keys = [numbers_of_values(self.data[name]) for name in names]
        return self.data.groupby(keys or [np.zeros(len(self), dtype=int)], sort=False)

    def groups(self, names: Iterable[str]) -> "Iterator[Frame]":
        """Yield the frame of each group of `groupby`."""
        return (replace(self, data=own) for _, own in self.groupby(names))

    def first_of_each(self, names: Iterable[str]) -> "Frame":
        """Return the frame of the first row of each group of `groupby`."""
        return replace(self, data=self.groupby(names).head(1))


def make_frame(runs: Sequence[Run], renaming: Renaming = KEPT) -> Frame:
    """Return a frame with one row per run, in the order given; missing numbers are NaN.

    A setting or metric with the name of another column is `config.NAME` or `metrics.NAME`. A tuned
    setting of the training is missing in a run without parameters to train.
    """
    import pandas as pd

    chosen, asked = [run.choices for run in runs], [run.settings for run in runs]
    summaries = [run.summary for run in runs]
    measured = _measured(summaries)
    names = _names(chosen)
    order = {name: place for place, name in enumerate(dict.fromkeys([*GROUPS, *names]))}
    choices = tuple(sorted(names, key=order.__getitem__))
    fixed = [*choices, *FACTS, *RUN, "seed"]
    settings = apart("config", _names(asked), fixed)
    metrics = apart("metrics", measured, [*fixed, *settings.values()])
    tuned = frozenset(name for one in summaries if one.tuning for name in one.tuning.values)
    trained = [name for name in tuned if name.startswith(OF_TRAINING)]
    columns: dict[str, Iterable[Any]] = {}
    columns |= {name: [each.get(name) for each in chosen] for name in choices}
    columns["seed"] = [run.seed for run in runs]
    columns |= {column: [each.get(name) for each in asked] for name, column in settings.items()}
    columns["status"] = [run.status.value for run in runs]
    columns |= {column: measured[name] for name, column in metrics.items()}
    for name, fact in FACTS.items():
        values = map(fact, summaries)
        columns[name] = [clean(value) if isinstance(value, str) else value for value in values]
    columns["primary"] = [metrics.get(str(one.primary), one.primary) for one in summaries]
    columns["key"] = [clean(one.key) for one in summaries]
    columns["folder"] = [clean(run.path) for run in runs]
    kinds = dict.fromkeys(columns, object) | dict.fromkeys(metrics.values(), float)
    data = pd.DataFrame({name: pd.Series(own, dtype=kinds[name]) for name, own in columns.items()})
    without = [one.parameters == 0 for one in summaries]
    data.loc[without, [settings[name] for name in trained if name in settings]] = None

    def declared(by_run: Callable[[Summary], Mapping[str, Any]]) -> dict[str, Any]:
        known = {name: value for one in summaries for name, value in by_run(one).items()}
        return {column: known[name] for name, column in metrics.items() if name in known}

    companions = {
        column: {head: metrics[name] for head, name in others.items() if name in metrics}
        for column, others in declared(attrgetter("companions")).items()
    }
    return Frame(
        data,
        runs,
        choices,
        tuple(settings.values()),
        tuple(metrics.values()),
        declared(attrgetter("better")),
        declared(attrgetter("units")),
        companions,
        tuned,
        renaming,
    )


def load_results(*paths: str | Path, results_version: int = RESULTS_VERSION) -> "pd.DataFrame":
    """Return all runs at or below the folders (`outputs` by default), one row per run.

    Without folders the runs of cards, claims and chapters are left out.

    Columns: the choice in each group (`model`, `data`, ...), `seed`, every setting by its dotted
    path (`model.width`), `status`, the metrics by name, what the run cost (`parameters`, `seconds`,
    `peak_memory_mb`), where it ran (`device`, `torch`, `code`, `commit`, ...), `key` and `folder`.
    `frame.attrs["better"]` holds the direction of each metric that ranks. Folders that cannot be
    read and runs of results versions other than `results_version` are left out;
    `frame.attrs["skipped"]` says which and why.

    Raises RequestError for a path that is not a folder.
    """
    collected = collect_asked(paths, results_version)
    frame = make_frame(collected.runs)
    table = typed(frame.data)
    table.attrs |= {"better": frame.better, "skipped": collected.left_out}
    return table


def typed(data: "pd.DataFrame") -> "pd.DataFrame":
    """Return a DataFrame in which pandas infers the types of the columns of objects.

    Integers stay integers next to missing values.
    """
    import pandas as pd

    return pd.DataFrame({name: _typed(column) for name, column in data.items()})


def varying(frame: Frame) -> list[str]:
    """Return the choices and settings that differ between the runs.

    A setting that differs only with the choice in its group, such as the hidden size that
    `additive` alone has, is not counted.
    """
    choices = set(frame.choices)
    found = dict.fromkeys(name for name in frame.differing if name in choices)
    for path in frame.settings:
        group = path.partition(".")[0]
        within = [group] if group in found else []
        if path in frame.tuned_by_split:
            continue
        if path in frame.several and not depends_only_on(frame, path, within):
            found[path] = None
    return list(found)


def numbers_of_values(column: "pd.Series[Any]") -> NDArray[np.intp]:
    """Return a number for each value of a column, 0 for the first value, 1 for the next other one.

    True is another value than 1, and False than 0. A missing value counts as one.
    """
    import pandas as pd

    if {bool} < {*map(type, column)}:
        column = column.map(lambda value: (value,) if isinstance(value, bool) else value)
    return pd.factorize(column, use_na_sentinel=False)[0]


def depends_only_on(frame: Frame, column: str, others: Sequence[str]) -> bool:
    """Return whether runs that agree in the other columns agree in this one."""
    return frame.groupby([*others, column]).ngroups == frame.groupby(others).ngroups


def _typed(column: "pd.Series[Any]") -> Any:
    if column.dtype != object:
        return column
    types = set(map(type, column))
    if int in types and types <= {int, float, NoneType} and len(types) > 1:
        return np.array([math.nan if value is None else value for value in column], dtype=object)
    return column.tolist()


def _names(several: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return all keys in an order that does not depend on the order of the mappings.

    The keys of the longest mapping come first, then the additional keys of others.
    """
    shapes = sorted(set(map(tuple, several)), key=lambda shape: (-len(shape), shape))
    return list(dict.fromkeys(name for shape in shapes for name in shape))


def apart(prefix: str, names: Iterable[str], taken: Iterable[str]) -> dict[str, str]:
    """Return the column of each name: the name, or `PREFIX.NAME` if it is taken."""
    others = set(taken)
    return {name: f"{prefix}.{name}" if name in others else name for name in names}


def _measured(summaries: Sequence[Summary]) -> dict[str, NDArray[np.float64]]:
    """Return the metrics that some run has, by name: NaN where not a finite number."""
    found: dict[str, NDArray[np.float64]] = {}
    for name in _names(one.metrics for one in summaries):
        values = np.array([one.metrics.get(name) for one in summaries], dtype=float)
        values[abs(values) >= LARGEST] = np.nan
        if not np.isnan(values).all():
            found[clean(name)] = values
    return found
