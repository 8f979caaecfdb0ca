"""The reports: runs one by one, and configurations with their results and costs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from attnexp.runs.run_status import Status
from attnexp.select.collect import collect
from attnexp.select.frame import IGNORED_CHOICES, Frame, apart, depends_only_on, make_frame, varying
from attnexp.select.names import short_names
from attnexp.select.order import sort_runs
from attnexp.select.sample import SEEDS
from attnexp.tables.advice import advice
from attnexp.tables.columns import COLUMNS
from attnexp.tables.entries import Entry, Request, ResultsTable, divide
from attnexp.tables.fairness import conditions, results
from attnexp.tables.grid import Cell, Grid, Head, Report, cell, count_text, listed
from attnexp.tables.learning import mode_notes, unfailed_notes
from attnexp.tables.screen import show
from attnexp.tables.sentences import explanations, row_in_list, verdicts

ROWS = 40
"""Rows of a table that are printed unless more are requested."""

NOTES = 3
"""Notes below a table unless the reasons are asked for."""

ALWAYS = ("model", "data", "seed")
"""Columns that a table of runs has even if they are the same for all runs."""

SHORT = "Mean over seeds ± standard deviation."
STAR = "*: the best, or not told apart from it."
OVER_SEEDS = "verdicts by sign flips over {units}"
OVER_SPLITS = "verdicts by t tests over splits of this file"
COSTS = "The costs of a run: seconds on average, everything else at most."


class LazyRows(Sequence[Any]):
    """Rows that are made when they are read: the screen shows only a few of them."""

    def __init__(self, items: Sequence[Any], make: Callable[[Any], Any]) -> None:
        self._items = items
        self._make = make

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self._make(each) for each in self._items[place]]
        return self._make(self._items[place])


def show_configurations(folders: Sequence[str]) -> None:
    """Print the tables of the runs in the folders."""
    frame = sort_runs(make_frame(collect(folders).runs), None)
    show(configurations_report(frame, Request()), ROWS)


def runs_report(frame: Frame, metrics: Sequence[str], numbers: Sequence[str] = ()) -> Report:
    """Return a table with one row per run.

    It shows model, data, seed, the name of an imported run, what differs between the runs and does
    not follow from the choice of data, and the metrics (by default all). If `numbers` has the paths
    of runs, each has its place there as its number. The records have every column of the frame.
    """
    data = [name for name in frame.choices if name == "data"]  # imported runs may have none
    differing = [
        name
        for name in varying(frame)
        if name not in ALWAYS and not depends_only_on(frame, name, data)
    ]
    status = ["status"] if (frame.column("status") != Status.FINISHED).any() else []
    trial = ["trial"] if frame.column("trial").any() else []
    named = ["name"] if any(run.summary.name for run in frame.runs) else []
    always = [name for name in ALWAYS if name in frame.columns]
    shown = [*always, *named, *differing, *status, *trial]
    names = short_names(shown)
    primary = [name for name in dict.fromkeys(frame.column("primary")) if name in frame.metrics]
    ordered = list(metrics) or list(dict.fromkeys([*primary, *frame.better, *frame.metrics]))
    number = {path: i for i, path in enumerate(numbers, 1)}
    heads = [
        *([Head("#", right=True)] if number else []),
        *(Head(names[name], right=_is_number(frame.column(name))) for name in shown),
        *(
            Head(name, right=True, spare=int(i > 0), measured=True)
            for i, name in enumerate(ordered)
        ),
    ]

    def row(place: int) -> list[Cell]:
        first = [cell(number[frame.loaded[place].path])] if number else []
        return [
            *first,
            *(cell(frame.shown(name, frame.columns[name][place])) for name in (*shown, *ordered)),
        ]

    def record(place: int) -> dict[str, object]:
        return {name: frame.shown(name, column[place]) for name, column in frame.columns.items()}

    places = frame.rows.tolist()
    grid = Grid(heads, LazyRows(places, row), labels=len(shown) + bool(number))
    return Report([grid], LazyRows(places, record))


def configurations_report(frame: Frame, request: Request) -> Report:
    """Return the tables of a request, each followed by the costs of its rows if these are asked."""
    return tables_report(divide(frame, request), request)


def tables_report(tables: Sequence[ResultsTable], request: Request) -> Report:
    """Return the tables that a request was divided into, as `configurations_report` does."""
    grids = []
    for table in tables:
        grids.append(grid_of(table, "results", _title(table), _caption(table), _common(table)))
        if request.costs:
            grids.append(grid_of(table, "costs", "", COSTS))
    found = _texts(tables, verdicts)
    if request.explain:
        found += _texts(tables, partial(explanations, request=request))

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
    return Report(grids, records_of(tables), notes, found, further)


def grid_of(
    table: ResultsTable,
    kind: Literal["results", "costs"],
    title: str,
    caption: str,
    common: Sequence[str] = (),
) -> Grid:
    """Return a table with one row per configuration: its labels, and the columns of its kind."""
    short = short_names(table.by)
    heads = [
        Head(short[name], _is_number(own[0].row.labels[name] for own in table.entries))
        for name in table.by
    ]
    shown = [one for one in COLUMNS if one.table == kind and one.title and one.shown(table)]
    chosen = [
        (column, i)
        for i in range(max(1, len(table.metrics)))
        for column in shown
        if (column.each or i == 0)
        and not (column.sparse and all(column.value(own[i]) is None for own in table.entries))
    ]
    for column, i in chosen:
        named = {
            "{metric}": table.metrics[i] if table.metrics else "",
            "{units}": table.unit.many,
            "{reference}": table.reference or "the best",
        }
        heads.append(
            Head(
                _filled(column.title, named),
                column.align == "right",
                column.spare,
                column.folds,
                column.word or column.name,
                _filled(column.short, named),
                measured=kind == "results",
            )
        )

    def row(entries: Sequence[Entry]) -> list[Cell]:
        labels = table.labels(entries[0])
        undecided = kind == "results" and any(entry.undecided for entry in entries)
        return [
            *(
                _label_cell(entries[0], name, labels[name], undecided and name == table.by[0])
                for name in table.by
            ),
            *(cell((column.text or column.value)(entries[i])) for column, i in chosen),
        ]

    ahead = any(entry.ahead for own in table.entries for entry in own)
    legend = STAR if kind == "results" and _starred(table) and ahead else ""
    return Grid(heads, LazyRows(table.entries, row), title, caption, common, len(table.by), legend)


def _filled(title: str, named: Mapping[str, str]) -> str:
    for place, name in named.items():
        title = title.replace(place, name)
    return title


def _label_cell(entry: Entry, name: str, value: object, unsure: bool) -> Cell:
    """Return a label as a cell: `null` for a setting that is null, a dash for one that is not."""
    asked = (
        entry.row.labels[name] is None and entry.row.runs.runs[0].settings.get(name, name) is None
    )
    return replace(cell("null" if asked else value), unsure=unsure)


def records_of(tables: Sequence[ResultsTable]) -> Sequence[dict[str, object]]:
    """Return the entries for programs: a mapping per row and metric.

    A label that is called like a column is `config.NAME`.
    """
    pairs = [(table, entry) for table in tables for own in table.entries for entry in own]
    entries = [entry for _, entry in pairs]
    names = dict.fromkeys(name for entry in entries for name in entry.row.labels)
    labels = apart("config", names, [column.name for column in COLUMNS])
    kept = [
        column
        for column in COLUMNS
        if column.name
        and not (column.rare and all(column.value(entry) is None for entry in entries))
    ]

    def record(pair: tuple[ResultsTable, Entry]) -> dict[str, object]:
        table, entry = pair
        shown = entry.row.labels | {
            name: value for name, value in table.labels(entry).items() if value is not None
        }
        columns = {column.name: column.value(entry) for column in kept}
        return {own: shown.get(name) for name, own in labels.items()} | columns

    return LazyRows(pairs, record)


def _texts(
    tables: Sequence[ResultsTable], texts_of: Callable[[ResultsTable], Iterable[str]]
) -> list[str]:
    """Return sentences about each table, which name its data if there are several."""
    return [
        f"{table.data_name}: {text}" if len(tables) > 1 and table.data_name else text
        for table in tables
        for text in texts_of(table)
    ]


def _is_number(column: Iterable[Any]) -> bool:
    """Return whether a column has numbers and, apart from missing values, nothing else."""
    types = {type(value) for value in column if value is not None}
    return bool(types) and types <= {int, float, bool}


def _title(table: ResultsTable) -> str:
    noun = "configuration" if table.data else "row"
    data = f"{table.data_name}: " if table.data else ""
    return f"{data}{count_text(len(table.entries), noun)}, {count_text(len(table.frame), 'run')}"


def _caption(table: ResultsTable) -> str:
    sentences = [f"{_reading(table)}." if table.metrics else "No run has a result."]
    if table.only_data:
        sentences.append(f"All runs saw one data set: verdicts are of {table.only_data}.")
    elif table.unit is not SEEDS:
        sentences.append(f"Means over seeds within each of the {table.unit.many}, by data_seed.")
    sentences += [SHORT] * _starred(table)
    if table.alone:
        sentences.append(_alone(table))
    tuned = set(table.frame.column("tuned"))
    if len(tuned) == 1 and None not in tuned:
        sentences.append(f"Tuned for each row: {tuned.pop()}.")
    return " ".join(sentences)


def _alone(table: ResultsTable) -> str:
    """Return how many rows are compared with nothing, and that they are the last if they are."""
    number = len(table.alone)
    last = "The last " if table.firsts[-number:] == table.alone else ""
    be, noun = ("is", "row") if number == 1 else ("are", "rows")
    count = "" if last and number == 1 else f"{number} "
    return (
        f"{last}{count}{noun} {be} compared with nothing: rows that differ in "
        f"{listed(table.of_data)} saw different data."
    )


def _starred(table: ResultsTable) -> bool:
    return table.seeded and len(table.metrics) > 1


def _reading(table: ResultsTable) -> str:
    """Return which values are better, and how rows are compared: `Lower is better; ...`."""
    better = table.frame.better
    ways = [
        f"{name}: {better[name]} is better"
        if name in better
        else f"{name} describes and does not rank"
        for name in table.metrics
    ]
    if len(ways) == 1 and table.metrics[0] in better:
        ways = [f"{better[table.metrics[0]].capitalize()} is better"]
    if table.seeded and any(name in better for name in table.metrics):
        tested = OVER_SPLITS if any(entry.overlap for entry in table.firsts) else OVER_SEEDS
        ways.append(tested.format(units=table.unit.many))
    return "; ".join(ways)


def _common(table: ResultsTable) -> list[str]:
    """Return each choice that all runs share and that the title does not name."""
    shared = [name for name in table.frame.choices if name in table.same]
    named = IGNORED_CHOICES | ({"data"} if table.data else set())
    return [f"{name}={table.same[name]}" for name in shared if name not in named]
