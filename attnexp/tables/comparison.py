"""The tables that a request comes to: the statistics of each row, compared with the other rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from attnexp.runs.configurations import without_trials
from attnexp.runs.frame import Frame, varying
from attnexp.runs.order import natural
from attnexp.tables.groups import Gathered, Row, gather, is_share
from attnexp.tables.significance import Values, Verdict, compare, seed_means
from attnexp.tables.statistics import (
    PairedP,
    ShareSpread,
    Spread,
    betting_p,
    spread,
    student_p,
)


@dataclass(frozen=True)
class Cost:
    """What the finished runs of a row took: smallest and largest, or the mean for seconds."""

    parameters: tuple[int, int] | None
    steps: tuple[int, int] | None
    seconds: float | None
    peak_memory_mb: float | None


@dataclass(frozen=True)
class Entry:
    """What is known of a row and one metric; the metric is None where no run has a result.

    `better` is the direction of a metric that ranks, `seeds` the number of seeds with any result.
    A row is `ahead` where it is the best or tied with it, and some other row is shown to be worse.
    `beside` holds the means over seeds of the metrics that stand beside this one, by their heads.
    """

    row: Row
    cost: Cost
    seeds: int
    metric: str | None
    better: str | None
    values: Values
    spread: Spread | ShareSpread
    verdict: Verdict | None
    ahead: bool
    beside: Mapping[str, float]

    @property
    def standing(self) -> str | None:
        """The standing of the row, None where the metric does not rank."""
        return self.verdict.standing if self.verdict else None


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
class Part:
    """One table: runs that are compared by the same metric and, if not divided by hand, data.

    `entries` has a list for each row, an entry a metric. `metrics` are those that some run has
    measured, the one that matters first; there may be none. `same` is what was asked for in all
    runs alike, as far as it is set. `trials` is the number of runs that were made to tune settings
    and are left out.
    """

    data: str | None
    by: tuple[str, ...]
    same: Mapping[str, Any]
    metrics: tuple[str, ...]
    gathered: Gathered
    entries: list[list[Entry]]
    trials: int

    @property
    def frame(self) -> Frame:
        """The runs that count."""
        return self.gathered.frame

    @property
    def firsts(self) -> list[Entry]:
        """The entry of each row for the metric that matters."""
        return [entries[0] for entries in self.entries]

    @cached_property
    def seeded(self) -> bool:
        """Whether any row has more than one seed."""
        return any(entry.seeds > 1 for entry in self.firsts)

    @property
    def detailed(self) -> bool:
        """Whether there is one metric with deviations, which then has several columns."""
        return len(self.metrics) == 1 and self.seeded


def divide(frame: Frame, request: Request) -> list[Part]:
    """Return the tables that a request comes to.

    Unless `by` is given there is one a data set, and its rows are told apart by the model and by
    every setting that differs.
    """
    apart = ["data"] if "data" in frame.choices and not request.by else []
    frame = _with_primary(frame)
    numbers = frame.codes(apart if request.metrics else [*apart, "primary"])
    parts = []
    for number in dict.fromkeys(numbers.tolist()):
        own, trials = without_trials(frame.only(numbers == number))
        data = own.column("data")[0] if apart else None
        parts.append(_part(own, data, request, trials))
    return parts


def costs(gathered: Gathered) -> list[Cost]:
    """Return parameters, training steps, mean seconds and the most memory, row by row."""
    frame = gathered.frame
    names = ("parameters", "steps", "seconds", "peak_memory_mb")
    columns = [
        frame.column(name).astype(float) if name in frame.columns else None for name in names
    ]
    found = []
    for row in gathered.rows:
        index = row.index[gathered.finished[row.index]]
        own = [np.empty(0) if column is None else column[index] for column in columns]
        parameters, steps, seconds, memory = (values[~np.isnan(values)] for values in own)
        found.append(
            Cost(
                parameters=_ends(parameters),
                steps=_ends(steps),
                seconds=float(seconds.mean()) if seconds.size else None,
                peak_memory_mb=float(memory.max(initial=0)) or None,
            )
        )
    return found


def paired_test(frame: Frame, metric: str) -> PairedP:
    """Return the test by which rows are compared in a metric."""
    return betting_p if is_share(frame, metric) else student_p


def _ends(values: NDArray[np.float64]) -> tuple[int, int] | None:
    return (int(values.min()), int(values.max())) if values.size else None


def _with_primary(frame: Frame) -> Frame:
    """Return the frame in which runs that ended before they knew their primary metric have one.

    It is the metric of the other runs on the same data.
    """
    if "data" not in frame.choices:
        return frame
    usual: dict[str | None, str] = {}
    both = list(zip(frame.column("data"), frame.column("primary"), strict=True))
    for data, primary in both:
        if primary is not None:
            usual.setdefault(data, primary)
    return frame.with_column("primary", [primary or usual.get(data) for data, primary in both])


def _part(frame: Frame, data: str | None, request: Request, trials: int) -> Part:
    always = ["model"] if "model" in frame.choices else []
    differing = varying(frame)
    alike = [name for name in frame.factors if name not in frame.several]
    first = {name: frame.column(name)[0] for name in alike}
    same = {name: value for name, value in first.items() if value is not None}
    by = request.by or tuple(dict.fromkeys([*always, *differing]))
    measured = [name for name in frame.metrics if np.isfinite(frame.column(name)).any()]
    primary = frame.column("primary")[0]
    wanted = request.metrics or ((primary,) if primary in measured else ())
    metrics = tuple(name for name in wanted if name in measured)
    gathered = gather(frame, by, differing, request.apart)
    entries = _sorted(_entries(gathered, metrics), request, frame.better)
    return Part(data, by, same, metrics, gathered, entries, trials)


def _entries(gathered: Gathered, metrics: Sequence[str]) -> list[list[Entry]]:
    """Return the entries of each row, compared with the rows of the same panel."""
    rows, spent = gathered.rows, costs(gathered)
    values = [{name: gathered.values(row, name) for name in metrics} for row in rows]
    shares = {name for name in metrics if is_share(gathered.frame, name)}
    spreads = [
        {
            name: ShareSpread(tuple(seed_means(own)), gathered.examples(row))
            if name in shares
            else spread(seed_means(own))
            for name, own in mine.items()
        }
        for row, mine in zip(rows, values, strict=True)
    ]
    verdicts: list[dict[str, Verdict]] = [{} for _ in rows]
    ahead: set[tuple[int, str]] = set()
    together: dict[tuple[Any, ...], list[int]] = {}
    for i, row in enumerate(rows):
        together.setdefault(row.panel, []).append(i)
    for panel in together.values():
        for name in metrics:
            way = gathered.frame.better.get(name)
            if way is not None:
                found = compare(
                    [values[i][name] for i in panel],
                    cast(Literal["lower", "higher"], way),
                    paired_test(gathered.frame, name),
                )
                decided = any(verdict.standing == "worse" for verdict in found)
                for i, verdict in zip(panel, found, strict=True):
                    verdicts[i][name] = verdict
                    if decided and verdict.standing in ("best", "tied"):
                        ahead.add((i, name))
    nothing = spread([])
    return [
        [
            Entry(
                row,
                spent[i],
                max((own.n for own in spreads[i].values()), default=0),
                name,
                gathered.frame.better.get(name) if name else None,
                values[i].get(name, {}) if name else {},
                spreads[i].get(name, nothing) if name else nothing,
                verdicts[i].get(name) if name else None,
                (i, name) in ahead,
                _beside(gathered, row, name),
            )
            for name in (*metrics,) or (None,)
        ]
        for i, row in enumerate(rows)
    ]


def _beside(gathered: Gathered, row: Row, metric: str | None) -> dict[str, float]:
    """Return the means over seeds of the metrics beside one, where the runs of a row have them."""
    others = gathered.frame.beside.get(metric or "", {})
    means = {head: seed_means(gathered.values(row, other)) for head, other in others.items()}
    return {head: fmean(values) for head, values in means.items() if values}


def _sorted(
    entries: list[list[Entry]], request: Request, better: Mapping[str, str]
) -> list[list[Entry]]:
    """Return the rows best first, in portions of the same data; or as asked.

    What is missing comes last.
    """
    by = request.sort or entries[0][0].metric or ""
    falling = (better.get(by) == "higher") != request.reverse

    def place(own: list[Entry]) -> Any:
        for entry in own:
            if entry.metric == by:
                return entry.spread.mean
        value = own[0].row.labels.get(by)
        return None if value is None else natural(value)

    there = [own for own in entries if place(own) is not None]
    gone = [own for own in entries if place(own) is None]
    ordered = [*sorted(there, key=place, reverse=falling), *gone]
    if request.sort is not None:
        return ordered
    first = {own[0].row.panel: i for i, own in reversed(list(enumerate(entries)))}
    return sorted(ordered, key=lambda own: first[own[0].row.panel])
