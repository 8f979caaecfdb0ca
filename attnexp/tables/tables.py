"""The reports: runs one by one, configurations with their results and costs, and pivot tables."""

import re
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any, Literal

from attnexp.console import setting_text
from attnexp.runs.collection import collect
from attnexp.runs.frame import UNTOLD, Frame, depends_only_on, make_frame, varying
from attnexp.runs.names import short_names
from attnexp.runs.order import natural, sort_runs
from attnexp.tables.columns import COLUMNS, lost_text, mean_text
from attnexp.tables.comparison import Entry, Part, Request, divide
from attnexp.tables.fairness import warnings
from attnexp.tables.groups import is_share
from attnexp.tables.modes import split_rows
from attnexp.tables.power import advice
from attnexp.tables.statistics import WIDENING
from attnexp.tables.table import NOTHING, Cell, Grid, Head, Report, cell, count_text
from attnexp.tables.terminal import show

ROWS = 40
"""Rows of a table that are printed unless more are asked for."""

ALWAYS = ("model", "data", "seed")
"""Columns that a table of runs has even where all runs are alike in them."""

FULL = "Mean over seeds, standard deviation, and {} 95% interval of the mean."
SHORT = (
    "Mean over seeds ± standard deviation. A star, where any is given: the best, or tied with it."
)
BETTING = (
    "Shares are compared with the best by the betting test, paired by seed: whatever the "
    "distribution, and however often one looks while adding seeds, the whole table errs in at most "
    "5% of cases (Holm's correction over all pairs)."
)
STUDENT = (
    "Rows are compared with the best by t tests, paired by seed, with the standard error widened "
    f"{WIDENING:g} times against skewed differences: the whole table errs in at most 5% of cases, "
    "unless differences are extremely skewed or a rare failure has not been seen (Holm's "
    "correction over all pairs)."
)
STEPPED = re.compile(r"_\d+_step$")
"""How the names of milestones end."""

COSTS = "What a run took: seconds on average, memory at most."


def show_configurations(folders: Sequence[str]) -> None:
    """Print the tables of the runs in the folders."""
    frame = sort_runs(make_frame(collect(folders).runs), None)
    show(configurations_report(frame, Request()), ROWS)


def runs_report(frame: Frame, metrics: Sequence[str]) -> Report:
    """Return a table with a row a run.

    It holds model, data, seed, what differs between the runs and does not follow from the choice
    of data, and the metrics (all, where none is named). The records hold every column there is.
    """
    told = [
        name
        for name in varying(frame)
        if name not in ALWAYS and not depends_only_on(frame, name, ["data"])
    ]
    status = ["status"] if (frame.column("status") != "finished").any() else []
    trial = ["trial"] if frame.column("trial").any() else []
    shown = [*(name for name in ALWAYS if name in frame.columns), *told, *status, *trial]
    names = short_names(shown)
    ordered = list(metrics) or _in_order(frame)
    heads = [
        *(Head(names[name], right=_is_number(frame, name)) for name in shown),
        *(Head(name, right=True, spare=i > 0) for i, name in enumerate(ordered)),
    ]

    def row(place: int) -> list[Cell]:
        return [cell(frame.column(name)[place]) for name in (*shown, *ordered)]

    def record(place: int) -> dict[str, object]:
        values = {name: frame.column(name)[place] for name in frame.columns}
        return {name: None if value != value else value for name, value in values.items()}

    runs = range(len(frame))
    return Report([Grid(heads, MadeRows(runs, row))], MadeRows(runs, record))


def configurations_report(frame: Frame, request: Request) -> Report:
    """Return the tables that a request comes to, below each what its rows cost."""
    parts = divide(frame, request)
    grids = []
    for part in parts:
        grids.append(grid(part, "results", _title(part), _caption(part)))
        grids.append(grid(part, "costs", "", COSTS))
    return Report(grids, records(parts), notes(parts))


def pivot_report(frame: Frame, request: Request, down: str, across: str) -> Report:
    """Return tables with one column down and another across.

    Rows are compared within a column of the table. There is one table, or one for each metric where
    several are asked for, or where several would share a cell.
    """
    parts = divide(frame, request)
    cells = [set(_places(part, down, across)) for part in parts]
    if len(request.metrics) > 1:
        grids = [pivot_grid(parts, down, across, i) for i in range(len(parts[0].entries[0]))]
    elif sum(map(len, cells)) == len(set().union(*cells)):
        grids = [pivot_grid(parts, down, across)]
    else:
        grids = [pivot_grid([part], down, across) for part in parts]
    return Report(grids, records(parts), notes(parts))


def grid(part: Part, table: Literal["results", "costs"], title: str, caption: str) -> Grid:
    """Return a table with one row a configuration: its labels, and the columns declared for it."""
    short = short_names(part.by)
    heads = [
        Head(short[name], all(isinstance(e.row.labels[name], int | float) for e in part.firsts))
        for name in part.by
    ]
    shown = [one for one in COLUMNS if one.table == table and one.title and one.shown(part)]
    chosen = [
        (column, i)
        for each, columns in ((each, list(own)) for each, own in groupby(shown, attrgetter("each")))
        for i in range(len(part.metrics) if each else 1)
        for column in columns
        if not column.sparse or any(column.value(own[i]) is not None for own in part.entries)
    ]
    for column, i in chosen:
        metric = part.metrics[i] if part.metrics else ""
        named = column.title.replace("{metric}", metric)
        heads.append(Head(named, column.align == "right", column.spare))

    def row(entries: Sequence[Entry]) -> list[Cell]:
        return [
            *(cell(entries[0].row.labels[name]) for name in part.by),
            *(cell((column.text or column.value)(entries[i])) for column, i in chosen),
        ]

    return Grid(heads, MadeRows(part.entries, row), title, caption)


def pivot_grid(parts: Sequence[Part], down: str, across: str, metric: int = 0) -> Grid:
    """Return mean, deviation and seeds in each cell, of the metric at a place in each part."""
    found = {
        key: entries[metric]
        for part in parts
        for key, entries in _places(part, down, across).items()
    }
    tops, sides = (sorted({key[i] for key in found}, key=natural) for i in (1, 0))
    short = short_names([down, across])
    metrics = {entry.metric or "" for entry in found.values()}
    heads = [Head(short[down])]
    for top in tops:
        own = sorted({entry.metric or "" for key, entry in found.items() if key[1] == top})
        named = "" if len(metrics) == 1 else f" {' or '.join(own)}"
        heads.append(Head(f"{short[across]}={setting_text(top)}{named}", right=True))
    rows = [[cell(side), *(_pivot_cell(found.get((side, top))) for top in tops)] for side in sides]
    one = f"{metrics.pop()}: " if len(metrics) == 1 else ""
    caption = " ".join([f"{one}{SHORT}", *_tests(parts)])
    return Grid(heads, rows, f"{short[down]} x {short[across]}", caption)


def records(parts: Sequence[Part]) -> Sequence[dict[str, object]]:
    """Return the tables for programs: a mapping for each row and metric."""
    labels = dict.fromkeys(["data", *(name for part in parts for name in part.by)])
    if not any("data" in part.by or part.data for part in parts):
        labels.pop("data")

    def record(place: tuple[Part, Entry]) -> dict[str, object]:
        part, entry = place
        own = ({"data": part.data} if part.data else {}) | entry.row.labels
        columns = {column.name: column.value(entry) for column in COLUMNS if column.name}
        return {label: own.get(label) for label in labels} | columns

    places = [(part, entry) for part in parts for entries in part.entries for entry in entries]
    return MadeRows(places, record)


def notes(parts: Sequence[Part]) -> list[str]:
    """Return what must be read with the numbers, each sentence once."""
    several = len(parts) > 1
    found = [
        f"{part.data}: {text}" if several and part.data else text
        for part in parts
        for text in (*warnings(part), *split_rows(part), *advice(part))
    ]
    return list(dict.fromkeys(found))


class MadeRows(Sequence[Any]):
    """Rows that are made when they are asked for: the screen shows a few of them."""

    def __init__(self, places: Sequence[Any], make: Callable[[Any], Any]) -> None:
        self._places = places
        self._make = make

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self._make(each) for each in self._places[place]]
        return self._make(self._places[place])


def _is_number(frame: Frame, name: str) -> bool:
    """Return whether a column has numbers, and nothing else beside what is missing."""
    types = {type(value) for value in frame.column(name) if value is not None}
    return bool(types) and types <= {int, float, bool}


def _in_order(frame: Frame) -> list[str]:
    """Return the metrics: those that runs are compared by, others that rank, and the rest."""
    primary = [name for name in dict.fromkeys(frame.column("primary")) if name in frame.metrics]
    return list(dict.fromkeys([*primary, *frame.better, *frame.metrics]))


def _places(part: Part, down: str, across: str) -> dict[tuple[Any, Any], list[Entry]]:
    return {(own[0].row.labels[down], own[0].row.labels[across]): own for own in part.entries}


def _pivot_cell(entry: Entry | None) -> Cell:
    if entry is None:
        return Cell(NOTHING)
    lost = lost_text(entry)
    if entry.spread.mean is None:
        return Cell(lost or NOTHING)
    return mean_text(entry, f" ({entry.spread.n}; {lost})" if lost else f" ({entry.spread.n})")


def _title(part: Part) -> str:
    noun = "configuration" if part.data else "row"
    ahead = f"{part.data}: " if part.data else ""
    rows, runs = len(part.entries), len(part.frame)
    return f"{ahead}{count_text(rows, noun)}, {count_text(runs, 'run')}"


def _caption(part: Part) -> str:
    ways = [
        f"{name}: {part.frame.better[name]} is better"
        if name in part.frame.better
        else f"{name} describes and does not rank"
        for name in part.metrics
    ]
    told = [f"{'; '.join(ways)}."] if ways else ["No run has a result."]
    if part.seeded:
        share = is_share(part.frame, part.metrics[0])
        whose = "the wider of Student's and the beta-binomial model's" if share else "Student's"
        told.append(FULL.format(whose) if len(part.metrics) == 1 else SHORT)
        told += _tests([part])
    tuned = set(part.frame.column("tuned"))
    if len(tuned) == 1 and None not in tuned:
        told.append(f"Tuned for each row: {tuned.pop()}.")
    if any(STEPPED.search(name) for name in part.metrics):
        told.append("Steps of a milestone are those at the end of an epoch, one epoch apart.")
    same = _same_everywhere(part)
    return " ".join([*told, f"The same in every run: {same}."] if same else told)


def _tests(parts: Sequence[Part]) -> list[str]:
    """Return how rows are compared in the metrics that rank."""
    ranked = [(part.frame, name) for part in parts for name in part.metrics]
    return list(
        dict.fromkeys(
            BETTING if is_share(frame, name) else STUDENT
            for frame, name in ranked
            if name in frame.better
        )
    )


def _same_everywhere(part: Part) -> str:
    """Return each choice that all runs share, with the settings that they share."""
    told = []
    for choice in part.frame.choices:
        if choice in part.same and choice not in UNTOLD:
            inside = [
                f"{path.partition('.')[2]}={setting_text(value)}"
                for path, value in part.same.items()
                if path.startswith(f"{choice}.") and not path.endswith("._target_")
            ]
            named = f"{choice}={part.same[choice]}"
            told.append(f"{named} ({', '.join(inside)})" if inside else named)
    return ", ".join(told)
