"""The entries of tables: the statistics of each metric of each row of runs."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnexp.core.errors import RequestError
from attnexp.core.language import Phrase, Text, joined, said
from attnexp.runs.folder import Run
from attnexp.runs.run_status import Status
from attnexp.select.configurations import (
    DATA_SEED,
    Replaced,
    is_data,
    label,
    without_repeats,
    without_tuning_runs,
)
from attnexp.select.frame import FACTS, Frame, varying
from attnexp.select.names import short_names
from attnexp.select.order import UNRANKED, natural, ranking
from attnexp.select.renaming import KEPT
from attnexp.select.sample import (
    DATA_SETS,
    SEEDS,
    SPLITS,
    Sample,
    SampleUnit,
    data_seeds,
    diverged_in,
    sample_of,
    standings,
    with_diverged,
)
from attnexp.stats.additive import levels
from attnexp.stats.compare import Standing, Word, fewest_seeds
from attnexp.stats.intervals import Spread
from attnexp.stats.sequential import portions

MISSING = "missing"
LOST = (Status.FAILED, Status.INTERRUPTED, Status.DIED, Status.RUNNING, MISSING)
"""Why a row has no result of a seed; `missing` if the row has no run, and other rows have."""
LOST_WORDS = (said("failed"), said("interrupted"), said("died"), said("running"), said("missing"))
"""The printed words of `LOST`."""


Numbers = dict[tuple[int, int], frozenset[tuple[str, float | None]]]
"""The names and values of all metrics of a run, by unit and block."""


@dataclass(frozen=True)
class TableRequest:
    """A request for tables.

    Rows are configurations, or the combinations of values of the columns `by`. `metrics` are by
    default the primary metrics. `sort` is a metric or a column of `by`, best or smallest first.
    Rows are compared with the best row, or with the row whose label is `reference`, in which case
    they keep their order. `equal_within` is passed to `Rule`; `explain` adds the reasoning behind
    each verdict, `costs` a table of costs, `also` columns that are shown only on request. Tables
    show the `top` best rows on the same data, and at most `limit` lines; 0 is all.
    """

    by: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    sort: str | None = None
    reverse: bool = False
    reference: str | None = None
    equal_within: float | None = None
    explain: bool = False
    costs: bool = False
    also: tuple[str, ...] = ()
    top: int = 0
    limit: int = 0


@dataclass(frozen=True)
class Row:
    """Runs with the same `labels`: the values of the columns by which a table is divided.

    `blocks` numbers, for each run, the settings that differ inside rows, except the settings of
    groups by which rows are labelled. `lost` is the number of missing results by reason, and `unit`
    the unit of averages.
    """

    labels: dict[str, Any]
    runs: Frame
    blocks: NDArray[np.integer]
    lost: dict[str, int]
    unit: SampleUnit = SEEDS

    @cached_property
    def numbers(self) -> Numbers:
        """All metrics of the finished runs, by unit and block.

        Imported runs are left out: other tools may not have recorded what a setting changes.
        """
        units = self.runs.data[self.unit.column]
        return {
            (unit, block): frozenset(run.summary.metrics.items())
            for unit, block, run in zip(units, self.blocks.tolist(), self.runs.runs, strict=True)
            if run.finished and not run.summary.imported
        }

    def costs(self, name: str) -> NDArray[np.float64]:
        """Return a cost, a fact or a metric, of the finished runs for which it is known."""
        known = (*FACTS, *self.runs.metrics)
        own = next((each for each in (name, f"metrics.{name}") if each in known), None)
        if own is None:
            return np.empty(0)
        values = self.runs.data[own].to_numpy(float)[self.runs.finished]
        return values[~np.isnan(values)]


@dataclass(frozen=True)
class TableEntry:
    """A row and one metric; `sample` is None if no run has a result.

    A row is `ahead` if it is best or tied with the best, and some other row is shown to be worse. A
    row is `undecided` if there are rows to compare it with, and it has too few seeds for a verdict.
    `level` is the mean that places the row among rows with other seeds (`stats.additive.levels`),
    None if shared seeds do not connect it to these. `beaten_by` is a row that beats it, if no row
    is the best. `worst` is the number of diverged runs that count as the worst value, by status.
    """

    row: Row
    sample: Sample | None = None
    standing: Standing = field(default_factory=Standing)
    ahead: bool = False
    undecided: bool = False
    level: float | None = None
    beaten_by: Row | None = None
    worst: Mapping[str, int] = field(default_factory=dict)

    @property
    def lost(self) -> dict[str, int]:
        """The number of runs without a value, by reason."""
        return {why: number - self.worst.get(why, 0) for why, number in self.row.lost.items()}

    @property
    def metric(self) -> str | None:
        """The name of the metric."""
        return None if self.sample is None else self.sample.name

    @property
    def title(self) -> str | None:
        """The name of the metric as readers see it."""
        return None if self.sample is None else self.row.runs.renaming.title(self.sample.name)

    @property
    def better(self) -> str | None:
        """The direction of a metric that ranks."""
        return None if self.sample is None else self.sample.better

    @property
    def spread(self) -> Spread:
        """Mean, deviation and interval over seeds."""
        return Spread([]) if self.sample is None else self.sample.spread

    @property
    def verdict(self) -> Phrase | None:
        """The word of the standing, or counts if seeds are too few."""
        return self.standing.text(self.row.unit.many)

    @property
    def seeds(self) -> set[int]:
        """The seeds, or other units, that have a value."""
        return set() if self.sample is None else set(self.sample.values)

    @property
    def overlap(self) -> float:
        """n_test / n_train if the values are of splits of one file."""
        return 0.0 if self.sample is None else self.sample.overlap

    @property
    def fixed_by(self) -> str | None:
        """The setting that fixes the data for all seeds of the row, None without one."""
        found = set(self.row.runs.data["fixed_by"])
        return found.pop() if len(found) == 1 else None


@dataclass(frozen=True)
class ResultsTable:
    """Runs compared by the same metric and, unless divided by hand, on the same data.

    `frame` has the runs that count: without the `tuning_runs`, and without the `older` runs, which
    newer runs of the same settings and seed replace. `metrics` are the requested metrics that some
    run has. `entries` has a tuple per row, with an entry per metric. `panels` groups the first
    entries of rows that are compared with each other, single rows last. Rows are labelled by the
    columns in `by`; `within` are the columns that differ inside rows besides the seed, `same` the
    factors with one value in all runs, `unit` the unit of averages, and `reference` the label of
    the row to compare with, by default the best row. `shown` are the rows of `entries` to print.
    """

    frame: Frame
    data: str | None
    by: tuple[str, ...]
    within: list[str]
    same: Mapping[str, Any]
    metrics: tuple[str, ...]
    entries: list[tuple[TableEntry, ...]]
    shown: list[tuple[TableEntry, ...]]
    panels: list[list[TableEntry]]
    tuning_runs: int
    older: Sequence[Replaced]
    unit: SampleUnit = SEEDS
    reference: str | None = None

    @property
    def only_data(self) -> str | None:
        """The setting of the one data set that all runs saw, such as `data_seed=0`, or None."""
        found = data_seeds(self.frame)
        return f"{DATA_SEED}={found.pop()}" if len(found) == 1 else None

    @cached_property
    def alone(self) -> list[TableEntry]:
        """The rows that are not compared with any row, if other rows are compared."""
        measured = [[entry for entry in panel if entry.spread.n > 0] for panel in self.panels]
        several = any(len(panel) > 1 for panel in measured)
        return [panel[0] for panel in measured if several and len(panel) == 1]

    @property
    def of_data(self) -> list[str]:
        """The labels that are settings of the data."""
        return [name for name in self.by if is_data(name)]

    @property
    def data_name(self) -> str:
        """The data set as readers see it, empty if rows are of several."""
        choice = self.same.get("data", "") if "data" in self.frame.choices else ""
        return self.frame.renaming(self.data or str(choice))

    @property
    def firsts(self) -> list[TableEntry]:
        """The entry of each row for the first metric."""
        return [entries[0] for entries in self.entries]

    @cached_property
    def short(self) -> Mapping[str, str]:
        """The short name of each label."""
        return short_names(self.by)

    @cached_property
    def telling(self) -> tuple[str, ...]:
        """The labels in which rows differ, or the first if none does."""
        rows = [entry.row.labels for entry in self.firsts]
        differing = (name for name in self.by if len({str(labels[name]) for labels in rows}) > 1)
        return tuple(differing) or self.by[:1]

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """The head of the column of each label and each metric."""
        own = {name: self.frame.renaming.title(name) for name in self.metrics}
        return self.frame.titles(self.by) | own

    def labels(self, entry: TableEntry) -> dict[str, Any]:
        """Return the labels of a row as readers see them.

        If a new name replaces the whole label, it is the first of the labels in which rows differ,
        and the others are None.
        """
        own = entry.row.labels
        if (whole := self.whole_name(entry)) is not None:
            return own | dict.fromkeys(self.telling) | {self.telling[0]: whole}
        return {name: self.frame.shown(name, value) for name, value in own.items()}

    def whole_name(self, entry: TableEntry) -> str | None:
        """Return the name that replaces all labels in which a row differs, if it has one."""
        if not self.frame.renaming:
            return None
        values = {name: entry.row.labels[name] for name in self.telling}
        plain = replace(self.frame, renaming=KEPT)
        return self.frame.renaming.whole(label(plain, values, entry.row.runs.runs[0], self.short))

    @cached_property
    def portions(self) -> int:
        """The most analyses of any panel that have enough seeds for a verdict."""
        several = [[entry.sample for entry in panel if entry.sample] for panel in self.panels]
        return max(
            (
                portions([sample.values for sample in own], [sample.came for sample in own])
                for own in several
                if len(own) > 1 and own[0].better and not any(sample.overlap for sample in own)
            ),
            default=0,
        )

    @cached_property
    def seeded(self) -> bool:
        """Whether any row has more than one seed."""
        return any(entry.spread.n > 1 for entry in self.firsts)

    @property
    def detailed(self) -> bool:
        """Whether the table has one metric, in several columns, and rows of several seeds."""
        return len(self.metrics) == 1 and self.seeded


def lost_text(lost: Mapping[str, int]) -> Text:
    """Return how many results are missing, by reasons of `LOST`."""
    words = [(lost[why], word) for why, word in zip(LOST, LOST_WORDS, strict=True) if lost.get(why)]
    return joined(said(", "), [said("{number} {state}", number=n, state=why) for n, why in words])


def divide(frame: Frame, request: TableRequest) -> list[ResultsTable]:
    """Return the tables of a request.

    Without `by` there is a table per data set and primary metric, with a row for each model and
    combination of settings that differ. Runs that ended before they recorded a primary metric are
    counted under the primary metric of other runs on the same data.

    Raises RequestError for `top` if no run has a result or if the metric does not rank.
    """
    data = frame.data["data"] if "data" in frame.choices else [None] * len(frame)
    found = list(zip(data, frame.data["primary"], strict=True))
    usual = {name: primary for name, primary in reversed(found) if primary is not None}
    tables: dict[tuple[str | None, str | None], list[int]] = {}
    for place, (name, primary) in enumerate(found):
        metric = None if request.metrics else primary or usual.get(name)
        tables.setdefault((None if request.by else name, metric), []).append(place)
    made = [
        _table(frame.only(np.array(places)), name, request.metrics or (metric,), request)
        for (name, metric), places in tables.items()
    ]
    if request.top and not any(table.metrics for table in made):
        raise RequestError(UNRANKED)
    return made


def _table(
    frame: Frame, data: str | None, wanted: Iterable[str | None], request: TableRequest
) -> ResultsTable:
    frame, tuning_runs = without_tuning_runs(frame)
    differing = varying(frame)
    model = ["model"] if "model" in frame.choices else []
    unit = SEEDS
    if DATA_SEED not in request.by and len(data_seeds(frame)) > 1:
        unit = SPLITS if max(frame.data["overlap"], default=0.0) else DATA_SETS
        differing.remove(DATA_SEED)
    by = request.by or tuple(dict.fromkeys([*model, *differing]))
    dividing = set(by)
    within = [name for name in differing if name not in dividing]
    first = frame.data.iloc[0]
    shared = [name for name in frame.factors if name not in frame.several]
    same = {name: first[name] for name in shared if first[name] is not None}
    frame, older = without_repeats(frame, by)
    metrics = tuple(
        name for name in wanted if name in frame.metrics and np.isfinite(frame.data[name]).any()
    )
    replaced: dict[str, list[Run]] = {}
    for one in older:
        replaced.setdefault(one.by.path, []).append(one.run)
    compared = []
    for panel in _panels(frame, ("data", *by) if data else by, within, unit):
        by_metric = [_compared(panel, metric, request, replaced) for metric in metrics or (None,)]
        compared.append(_sorted(list(zip(*by_metric, strict=True)), request))
    compared.sort(key=lambda panel: sum(own[0].spread.n > 0 for own in panel) == 1)
    entries = list(chain.from_iterable(compared))
    if request.sort is not None:
        entries = _sorted(entries, request)
    best = {id(own) for panel in compared for own in _best(panel, request)}
    shown = [own for own in entries if id(own) in best]
    firsts = [[own[0] for own in panel] for panel in compared]
    return ResultsTable(
        frame,
        data,
        by,
        within,
        same,
        metrics,
        entries,
        shown,
        firsts,
        tuning_runs,
        older,
        unit,
        request.reference,
    )


def _panels(
    frame: Frame, by: Sequence[str], within: Sequence[str], unit: SampleUnit
) -> Iterable[list[Row]]:
    """Yield the rows on each data: one per combination of values of the columns in `by`.

    All are in order of appearance.
    """
    inside = [name for name in within if name.partition(".")[0] not in by]
    blocks = frame.groupby(inside if unit is SEEDS else [*inside, "seed"]).ngroup()
    for panel in frame.groups(filter(is_data, by)):
        expected = panel.data[unit.column].nunique(dropna=False)
        yield [
            _row(runs, by, blocks[runs.data.index].to_numpy(), unit, expected)
            for runs in panel.groups(by)
        ]


def _row(
    runs: Frame, by: Sequence[str], blocks: NDArray[np.integer], unit: SampleUnit, expected: int
) -> Row:
    """Return the row of some runs; a block with fewer than `expected` units has missing runs."""
    labels = {name: runs.data[name].iat[0] for name in by}
    ended = Counter(runs.data["status"])
    lost = {str(state): ended[state] for state in LOST[:-1]}
    there = set(zip(runs.data[unit.column], blocks.tolist(), strict=True))
    lost[MISSING] = expected * len({block for _, block in there}) - len(there)
    return Row(labels, runs, blocks, lost, unit)


def _compared(
    panel: Sequence[Row],
    metric: str | None,
    request: TableRequest,
    older: Mapping[str, Sequence[Run]],
) -> list[TableEntry]:
    """Return the entry of each row of a panel for a metric, compared with the other rows."""
    if metric is None:
        return [TableEntry(row) for row in panel]
    measured = [sample_of(row.runs, metric, row.unit, row.blocks, older) for row in panel]
    samples = with_diverged(measured)
    found = standings(samples, request.equal_within, reference=_reference(panel, request))
    shown = any(standing.word is Word.WORSE for standing in found)
    least = fewest_seeds()
    compared = samples[0].better is not None and len(panel) > 1
    placed = levels([sample.values for sample in samples])
    if sum(level is not None for level in placed) < 2:
        placed = [sample.spread.mean for sample in samples]
    return [
        TableEntry(
            row,
            sample,
            standing,
            shown and standing.word in (Word.BEST, Word.TIED),
            compared and 0 < sample.spread.n < least,
            level,
            None if standing.beaten_by is None else panel[standing.beaten_by],
            {} if sample is own else _worst(row, own),
        )
        for row, own, sample, standing, level in zip(
            panel, measured, samples, found, placed, strict=True
        )
    ]


def _worst(row: Row, measured: Sample) -> Counter[str]:
    """Return the number of diverged runs whose unit and block have no measured value, by status."""
    units, blocks = row.runs.data[row.unit.column], row.blocks.tolist()
    return Counter(
        str(run.status)
        for run, unit, block in zip(row.runs.runs, units, blocks, strict=True)
        if diverged_in(run, measured.name) and block not in measured.values.get(unit, {})
    )


def _reference(panel: Sequence[Row], request: TableRequest) -> int | None:
    """Return the place of the row that others are compared with, None for the best row."""
    if request.reference is None:
        return None
    return next(i for i, row in enumerate(panel) if request.reference in row.labels.values())


def _best(
    panel: Sequence[tuple[TableEntry, ...]], request: TableRequest
) -> Sequence[tuple[TableEntry, ...]]:
    """Return the `top` best rows of a panel, by `--sort` or the first metric, or all rows.

    Raises RequestError for a metric that does not rank.
    """
    if not request.top or panel[0][0].metric is None:
        return panel
    better = panel[0][0].row.runs.better
    by = ranking([entry.metric or "" for entry in panel[0]], request.sort, better)
    return _sorted(panel, replace(request, sort=by, reverse=False))[: request.top]


def _sorted(
    entries: Sequence[tuple[TableEntry, ...]], request: TableRequest
) -> list[tuple[TableEntry, ...]]:
    """Return the rows best first, or as requested; missing values come last.

    Rows whose seeds are not connected to the seeds of others come before these.
    """
    if request.reference is not None:
        return list(entries)
    by = request.sort or entries[0][0].metric or ""
    better = entries[0][0].row.runs.better.get(by)
    descending = (better == "higher") != request.reverse

    def place(own: tuple[TableEntry, ...]) -> Any:
        for entry in own:
            if entry.metric == by:
                apart = entry.level is None
                number = entry.spread.mean if apart else entry.level
                return None if number is None else (apart != descending, number)
        value = own[0].row.labels.get(by)
        return None if value is None else (False, natural(value))

    known = [own for own in entries if place(own) is not None]
    unknown = [own for own in entries if place(own) is None]
    return [*sorted(known, key=place, reverse=descending), *unknown]
