"""The reports: runs one by one, and configurations with their results and costs."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from attnexp.core.language import (
    Phrase,
    Text,
    capitalized,
    counted,
    joined,
    said,
    speaking,
)
from attnexp.runs.folder import Run
from attnexp.runs.run_status import Status
from attnexp.select.collect import collect
from attnexp.select.frame import IGNORED_CHOICES, Frame, apart, depends_only_on, make_frame, varying
from attnexp.select.order import ranking, sort_runs
from attnexp.select.sample import SEEDS
from attnexp.tables.columns import COLUMNS, WORDS, Column
from attnexp.tables.entries import ResultsTable, TableEntry, TableRequest, divide
from attnexp.tables.grid import ROWS, Grid, GridCell, Head, Line, Report, cell, listed
from attnexp.tables.learning import mode_notes, unfailed_notes
from attnexp.tables.notes import advice, conditions, results
from attnexp.tables.screen import show
from attnexp.tables.sentences import explanations, row_in_list, verdicts

NOTES = 3
"""The most notes below a table without `--explain`."""

ALWAYS = ("model", "data", "seed")
"""Columns of a table of runs even if all runs have the same value."""

SHORT = said("Mean over seeds ± standard deviation.")
STAR = said("*: the best, or not told apart from it.")
COSTS = said("The costs of a run: seconds on average, everything else at most.")

Recorder = Callable[[ResultsTable, TableEntry], dict[str, object]]


def show_configurations(folders: Sequence[str]) -> None:
    """Print the tables of the runs in the folders, in the language of the locale."""
    frame = sort_runs(make_frame(collect(folders).runs), None)
    with speaking():
        show(configurations_report(frame, TableRequest(limit=ROWS)))


def runs_report(
    frame: Frame,
    metrics: Sequence[str],
    numbers: Sequence[str] = (),
    limit: int = 0,
    caption: str = "",
    also: Sequence[str] = (),
) -> Report:
    """Return a table with one row per run.

    Columns are model, data, seed, the names of imported runs, the settings that differ and do not
    follow from the choice of data, the user's own code if runs of the same settings differ in it,
    the columns `also`, and the metrics (by default all). `numbers` are the paths of runs in the
    order of their numbers, which are shown. The records have every column of the frame. `limit` is
    the most rows; 0 is all.
    """
    title = frame.renaming.title
    data = [name for name in frame.choices if name == "data"]  # imported runs may have none
    differing = [
        name
        for name in varying(frame)
        if name not in ALWAYS and not depends_only_on(frame, name, data)
    ]
    status = ["status"] if (frame.data["status"] != Status.FINISHED).any() else []
    tuning = ["tuning_run"] if frame.data["tuning_run"].any() else []
    named = ["name"] if any(run.summary.name for run in frame.runs) else []
    always = [name for name in ALWAYS if name in frame.data]
    code = [] if depends_only_on(frame, "code", frame.differing) else ["code"]
    shown = [*always, *named, *differing, *code, *status, *tuning]
    asked = [name for each in also for name in frame.names if each in (name, title(name))]
    shown += [name for name in dict.fromkeys(asked) if name not in (*shown, *frame.metrics)]
    names = frame.titles(shown)
    primary = [name for name in dict.fromkeys(frame.data["primary"]) if name in frame.metrics]
    ordered = list(metrics) or list(dict.fromkeys([*primary, *frame.better, *frame.metrics]))
    heads = [
        *([Head("#", right=True)] if numbers else []),
        *(Head(names[name], right=_is_number(frame.data[name])) for name in shown),
        *(
            Head(title(name), right=True, spare=int(i > 0), measured=True)
            for i, name in enumerate(ordered)
        ),
    ]

    number = {path: i for i, path in enumerate(numbers, 1)}
    titles = [*map(title, frame.names)]

    def line(run: Run, values: Sequence[Any]) -> Line:
        own = dict(zip(frame.names, values, strict=True))
        first = [number[run.path]] if number else []
        record = dict(zip(titles, values, strict=True))
        return Line([*first, *map(own.__getitem__, (*shown, *ordered))], [record])

    first_runs = frame.only(np.arange(min(len(frame), limit or len(frame))))
    columns = map(first_runs.shown_column, frame.names)
    lines = list(map(line, first_runs.runs, zip(*columns, strict=True)))
    labels, omitted = len(shown) + bool(numbers), len(frame) - len(lines)
    grid = Grid(heads, lines, caption=caption, labels=labels, omitted=omitted)
    return Report([grid], renaming=frame.renaming)


def configurations_report(frame: Frame, request: TableRequest) -> Report:
    """Return the report on a request: tables of results and, if requested, of costs."""
    return tables_report(divide(frame, request), request)


def tables_report(tables: Sequence[ResultsTable], request: TableRequest) -> Report:
    """Return the report on the tables of a request, as `configurations_report` does."""
    record, limit = recorder(tables), request.limit
    grids = []
    for table in tables:
        title, caption, common = _title(table), _caption(table, request), _common(table)
        also = request.also
        grids.append(grid_of(table, "results", title, caption, common, limit, record, also))
        if request.costs:
            grids.append(grid_of(table, "costs", "", COSTS, limit=limit))
    found: list[Phrase] = _texts(tables, verdicts)
    if request.explain:
        found += _texts(tables, explanations)

    names = {id(entry): row_in_list(table, entry) for table in tables for entry in table.firsts}
    modes = _texts(tables, partial(mode_notes, name=names))
    others = [
        *_texts(tables, results),
        *advice(tables, request),
        *_texts(tables, conditions),
    ]
    every = dict.fromkeys([*modes, *_texts(tables, partial(unfailed_notes, name=names)), *others])
    notes = list(every) if request.explain else list(dict.fromkeys([*modes, *others]))[:NOTES]
    further = [note for note in every if note not in notes]
    return Report(grids, notes, found, further, WORDS, renaming=tables[0].frame.renaming)


def grid_of(
    table: ResultsTable,
    kind: Literal["results", "costs"],
    title: Phrase,
    caption: Phrase,
    common: Sequence[str] = (),
    limit: int = 0,
    record: Recorder | None = None,
    also: Collection[str] = (),
) -> Grid:
    """Return a table with one row per configuration: its labels, and the columns of its kind.

    `limit` is the most rows; 0 is all. `record` makes the records of entries, and `also` names
    columns that are shown only on request.
    """
    heads = [
        Head(table.titles[name], _is_number(own[0].row.labels[name] for own in table.shown))
        for name in table.by
    ]
    names = table.frame.renaming
    shown = [
        one
        for one in COLUMNS
        if one.table == kind and one.title and one.shown(table)
        if not one.on_request or not {one.word, one.renamed(names)}.isdisjoint(also)
    ]
    chosen = [
        (column, i)
        for i in range(max(1, len(table.metrics)))
        for column in shown
        if (column.each or i == 0)
        and not (column.sparse and all(column.is_empty(own[i]) for own in table.shown))
    ]
    heads += [_head(table, column, i) for column, i in chosen]

    def row(entries: Sequence[TableEntry]) -> list[object]:
        labels = table.labels(entries[0])
        undecided = kind == "results" and any(entry.undecided for entry in entries)
        return [
            *(
                label_cell(entries[0], name, labels[name], undecided and name == table.by[0])
                for name in table.by
            ),
            *((column.text or column.value)(entries[i]) for column, i in chosen),
        ]

    ahead = any(entry.ahead for own in table.shown for entry in own)
    legend = STAR if kind == "results" and _starred(table) and ahead else ""
    lines = [
        Line(row(entries), [record(table, entry) for entry in entries] if record else ())
        for entries in table.shown[: limit or None]
    ]
    labels, omitted = len(table.by), len(table.shown) - len(lines)
    return Grid(heads, lines, title, caption, common, labels, legend, omitted=omitted)


def _head(table: ResultsTable, column: Column, i: int) -> Head:
    """Return the head of a column for the metric at place i, with names filled in."""
    reference = table.reference or said("the best")
    named: dict[Phrase, Phrase] = {
        "{metric}": table.titles[table.metrics[i]] if table.metrics else "",
        "{units}": table.unit.many,
        "{difference}": said("difference to {reference}", reference=reference),
        "{short difference}": said("diff. to {reference}", reference=reference),
    }
    return Head(
        column.renamed(table.frame.renaming) or named.get(column.title, column.title),
        column.align == "right",
        column.spare,
        column.folds,
        column.word or column.name,
        named.get(column.short, column.short),
        measured=column.table == "results",
    )


def label_cell(entry: TableEntry, name: str, value: object, unsure: bool) -> GridCell:
    """Return a label as a cell: `null` for a setting that is null, a dash for a missing setting."""
    asked = (
        entry.row.labels[name] is None and entry.row.runs.runs[0].settings.get(name, name) is None
    )
    return replace(cell("null" if asked else value), unsure=unsure)


def recorder(tables: Sequence[ResultsTable]) -> Recorder:
    """Return the function that makes the records of the tables, all with the same keys.

    A label with the name of a column is `config.NAME`.
    """
    renaming = tables[0].frame.renaming
    entries = [entry for table in tables for own in table.entries for entry in own]
    names = dict.fromkeys(name for entry in entries for name in entry.row.labels)
    taken = [column.name for column in COLUMNS if not column.on_request]
    titles = {name: renaming.title(name) for name in names}
    labels = apart("config", titles.values(), taken)
    kept = [
        column
        for column in COLUMNS
        if column.name and not (column.rare and all(map(column.is_empty, entries)))
    ]
    heads = [column.renamed(renaming) or column.name for column in kept]

    def record(table: ResultsTable, entry: TableEntry) -> dict[str, object]:
        shown = entry.row.labels | {
            name: value for name, value in table.labels(entry).items() if value is not None
        }
        columns = {head: column.value(entry) for head, column in zip(heads, kept, strict=True)}
        return {labels[titles[name]]: shown.get(name) for name in names} | columns

    return record


def _texts(
    tables: Sequence[ResultsTable], texts_of: Callable[[ResultsTable], Iterable[Phrase]]
) -> list[Phrase]:
    """Return sentences about each table, which name the data if there are several tables."""
    return [
        said("{what}: {text}", what=table.data_name, text=text)
        if len(tables) > 1 and table.data_name
        else text
        for table in tables
        for text in texts_of(table)
    ]


def _is_number(column: Iterable[Any]) -> bool:
    """Return whether all values of a column that are not missing are numbers."""
    types = {type(value) for value in column if value is not None}
    return bool(types) and types <= {int, float, bool}


def _title(table: ResultsTable) -> Text:
    count, shown = len(table.entries), len(table.shown)
    rows = counted("{count} configuration" if table.data else "{count} row", count)
    if shown < count:
        rows = said("{place} of {count}", place=shown, count=rows)
    runs = counted("{count} run", len(table.frame))
    text = joined(said(", "), [rows, runs])
    return said("{what}: {text}", what=table.data_name, text=text) if table.data else text


def _caption(table: ResultsTable, request: TableRequest) -> Text:
    missing = said(
        "No run has {metrics}." if request.metrics else "No run has a result.",
        metrics=listed(request.metrics),
    )
    sentences: list[Phrase] = [_reading(table) if table.metrics else missing]
    if table.only_data:
        sentences.append(
            said("All runs saw one data set: verdicts are of {setting}.", setting=table.only_data)
        )
    elif table.unit is not SEEDS:
        within = said(
            "Means over seeds within each of the {units}, by data_seed.", units=table.unit.many
        )
        sentences.append(within)
    sentences += [SHORT] * _starred(table)
    if len(table.shown) < len(table.entries) and table.metrics:
        by = table.frame.renaming.title(ranking(table.metrics, request.sort, table.frame.better))
        top = (
            said("Top {number} of rows on the same data by {metric}", number=request.top, metric=by)
            if len(table.panels) > 1
            else said("Top {number} by {metric}", number=request.top, metric=by)
        )
        rows = len(table.entries)
        sentences.append(
            said("{top}; verdicts and notes are of all {count} rows.", top=top, count=rows)
        )
    if table.alone:
        sentences.append(_alone(table))
    if table.portions > 1:
        sentences.append(
            said(
                "From the sixth on, {units} came in {count} portions: verdicts hold at 5% "
                "together.",
                units=table.unit.many,
                count=table.portions,
            )
        )
    tuned = set(table.frame.data["tuned"])
    if len(tuned) == 1 and None not in tuned:
        sentences.append(said("Tuned for each row: {settings}.", settings=tuned.pop()))
    return joined(" ", sentences)


def _alone(table: ResultsTable) -> Text:
    """Return a sentence on the rows that are not compared: their number, and if they are last."""
    number = len(table.alone)
    if table.firsts[-number:] == table.alone:
        rows = (
            said("The last row is")
            if number == 1
            else said("The last {count} rows are", count=number)
        )
    else:
        rows = said("1 row is") if number == 1 else said("{count} rows are", count=number)
    return said(
        "{rows} compared with nothing: rows that differ in {names} saw different data.",
        rows=rows,
        names=listed(table.of_data),
    )


def _starred(table: ResultsTable) -> bool:
    return table.seeded and len(table.metrics) > 1


def _reading(table: ResultsTable) -> Text:
    """Return which values are better, and how rows are compared: `Lower is better; ...`."""
    better = table.frame.better
    ways: list[Phrase] = [
        said("{what}: {text}", what=table.titles[name], text=better_words(better[name]))
        if name in better
        else said("{metric} describes and does not rank", metric=table.titles[name])
        for name in table.metrics
    ]
    if len(ways) == 1 and table.metrics[0] in better:
        ways = [capitalized(better_words(better[table.metrics[0]]))]
    if table.seeded and any(name in better for name in table.metrics):
        by_splits = {bool(entry.overlap) for entry in table.firsts}
        if True in by_splits:
            ways.append(said("verdicts by t tests over splits of this file"))
        if False in by_splits:
            ways.append(said("verdicts by sign flips over {units}", units=table.unit.many))
    return joined("", [joined(said("; "), ways), said(".")])


def better_words(better: str) -> Text:
    """Return which values of a metric are better, in words."""
    return said("lower is better") if better == "lower" else said("higher is better")


def _common(table: ResultsTable) -> list[str]:
    """Return the choices that all runs share, without those in the title."""
    shared = [name for name in table.frame.choices if name in table.same]
    named = IGNORED_CHOICES | ({"data"} if table.data else set())
    frame = table.frame
    return [
        f"{frame.renaming.title(name)}={frame.shown(name, table.same[name])}"
        for name in shared
        if name not in named
    ]
