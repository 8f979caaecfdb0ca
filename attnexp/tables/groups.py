"""Divides runs into tables, and computes what stands in each of their rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
import pandas as pd

from attnexp.runs.frame import Frame, codes, varying
from attnexp.runs.gather import Gathered, Row, Values, gather
from attnexp.runs.order import natural
from attnexp.tables.fairness import Cost, costs, warnings
from attnexp.tables.significance import Verdict, compare, seed_means
from attnexp.tables.statistics import Spread, spread


@dataclass(frozen=True)
class Request:
    """What tables are to show.

    Rows are configurations, or the combinations of `by` where it names columns. `metrics` are the
    ones that runs are compared by first, where none is named. `apart` names columns that rows are
    not compared across. `sort` is a metric or a column of `by`, best or smallest first.
    """

    by: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    sort: str | None = None
    reverse: bool = False


@dataclass(frozen=True)
class Entry:
    """A row with its statistics, by metric."""

    row: Row
    cost: Cost
    values: dict[str, Values]
    spreads: dict[str, Spread]
    verdicts: dict[str, Verdict]


@dataclass(frozen=True)
class Part:
    """One table: runs that are compared by the same metric and, if not divided by hand, data.

    `same` is what was asked for in all of them alike, as far as it is set.
    `metrics` are those that some run has measured, the one that matters first; there may be none.
    `warnings` say what makes the comparison less than fair.
    """

    data: str | None
    by: tuple[str, ...]
    same: Mapping[str, Any]
    metrics: tuple[str, ...]
    gathered: Gathered
    entries: list[Entry]
    warnings: list[str]

    @property
    def frame(self) -> Frame:
        """The runs that count."""
        return self.gathered.frame

    @property
    def seeded(self) -> bool:
        """Whether any row has more than one seed."""
        return any(s.n > 1 for entry in self.entries for s in entry.spreads.values())


def divide(frame: Frame, request: Request) -> list[Part]:
    """The tables that a request comes to.

    Unless `by` is given there is one a data set, and its rows are told apart by the model and by
    every setting that differs.
    """
    apart = ["data"] if "data" in frame.choices and not request.by else []
    frame = _with_primary(frame)
    numbers = codes(frame.table, apart if request.metrics else [*apart, "primary"])
    parts = []
    for number in dict.fromkeys(numbers.tolist()):
        own = frame.only(numbers == number)
        data = own.column("data")[0] if apart else None
        parts.append(_part(own, data, request))
    return parts


def _with_primary(frame: Frame) -> Frame:
    """Gives runs that ended too early to know it the primary metric of runs on the same data."""
    primary = frame.table["primary"]
    if "data" in frame.choices:
        primary = primary.fillna(primary.groupby(frame.table["data"]).transform("first"))
    return replace(frame, table=frame.table.assign(primary=primary))


def _part(frame: Frame, data: str | None, request: Request) -> Part:
    always = ["model"] if "model" in frame.choices else []
    differing = varying(frame)
    alike = [name for name in frame.factors if name not in frame.several]
    (first,) = frame.table[alike].head(1).astype(object).to_dict("records")
    same = {str(name): value for name, value in first.items() if not pd.isna(value)}
    by = request.by or tuple(dict.fromkeys([*always, *differing]))
    measured = [name for name in frame.metrics if np.isfinite(frame.column(name)).any()]
    primary = frame.column("primary")[0]
    wanted = request.metrics or ((primary,) if primary in measured else ())
    metrics = tuple(name for name in wanted if name in measured)
    gathered = gather(frame, by, differing, request.apart)
    spent = costs(gathered)
    entries = _sorted(_entries(gathered, spent, metrics), request, metrics, frame.better)
    return Part(data, by, same, metrics, gathered, entries, warnings(gathered, spent, metrics))


def _entries(gathered: Gathered, spent: Sequence[Cost], metrics: Sequence[str]) -> list[Entry]:
    rows = gathered.rows
    values = [{name: gathered.values(row, name) for name in metrics} for row in rows]
    entries = [
        Entry(
            row,
            cost,
            own,
            {name: spread(seed_means(measured)) for name, measured in own.items()},
            {},
        )
        for row, cost, own in zip(rows, spent, values, strict=True)
    ]
    compared: dict[tuple[Any, ...], list[Entry]] = {}
    for entry in entries:
        compared.setdefault(entry.row.panel, []).append(entry)
    for together in compared.values():
        for name in metrics:
            way = gathered.frame.better.get(name)
            if way is not None:
                verdicts = compare(
                    [entry.values[name] for entry in together],
                    cast(Literal["lower", "higher"], way),
                )
                for entry, verdict in zip(together, verdicts, strict=True):
                    entry.verdicts[name] = verdict
    return entries


def _sorted(
    entries: list[Entry], request: Request, metrics: Sequence[str], better: dict[str, str]
) -> list[Entry]:
    """Best first, in portions of the same data; or as asked. What is missing comes last."""
    by = request.sort or next(iter(metrics), "")
    falling = (better.get(by) == "higher") != request.reverse

    def place(entry: Entry) -> Any:
        if by in entry.spreads:
            return entry.spreads[by].mean
        value = entry.row.labels.get(by)
        return None if value is None else natural(value)

    there = [entry for entry in entries if place(entry) is not None]
    gone = [entry for entry in entries if place(entry) is None]
    ordered = [*sorted(there, key=place, reverse=falling), *gone]
    if request.sort is not None:
        return ordered
    panels = {entry.row.panel: i for i, entry in reversed(list(enumerate(entries)))}
    return sorted(ordered, key=lambda entry: panels[entry.row.panel])
