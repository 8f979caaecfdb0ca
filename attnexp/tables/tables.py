"""Tables of configurations: results, costs, and what must be read with them."""

from collections.abc import Sequence
from typing import Any

from attnexp.console import number_text, setting_text
from attnexp.runs.collection import collect
from attnexp.runs.frame import UNTOLD, Frame, make_frame
from attnexp.runs.gather import LOST
from attnexp.runs.names import short_names
from attnexp.runs.order import natural, sort_runs
from attnexp.tables.groups import Entry, Part, Request, divide
from attnexp.tables.power import advice
from attnexp.tables.significance import Verdict
from attnexp.tables.statistics import MOST_SEEDS, Spread, spread
from attnexp.tables.table import NOTHING, Cell, Column, Grid, Report, cell
from attnexp.tables.terminal import show

ROWS = 40
"""Rows of a table that are printed unless more are asked for."""

AHEAD = ("best", "tied")

FULL = "Mean over seeds, standard deviation, and Student's 95% interval of the mean."
SHORT = (
    "Mean over seeds ± standard deviation. A star, where any is given: the best, or tied with it."
)
TESTS = (
    "The rest is compared with the best by t tests, paired by seed; the whole table errs in at "
    "most 5% of cases (Holm's correction over all pairs)."
)


def show_configurations(folders: Sequence[str]) -> None:
    """Print the tables of the runs in the folders."""
    frame = sort_runs(make_frame(collect(folders).runs), None)
    show(configurations_report(frame, Request()), ROWS)


def configurations_report(frame: Frame, request: Request) -> Report:
    """The tables that a request comes to, below each what its rows cost."""
    parts = divide(frame, request)
    grids = [grid for part in parts for grid in (result_grid(part), cost_grid(part))]
    return Report(grids, records(parts), notes(parts))


def pivot_report(frame: Frame, request: Request, down: str, across: str) -> Report:
    """One column down, another across. Compared is within a column of the table.

    There is one table, or one for each metric where several are asked for, or where several would
    share a cell.
    """
    parts = divide(frame, request)
    cells = [set(_cells(part, down, across)) for part in parts]
    if len(request.metrics) > 1:
        grids = [pivot_grid(parts, down, across, name) for name in request.metrics]
    elif sum(map(len, cells)) == len(set().union(*cells)):
        grids = [pivot_grid(parts, down, across)]
    else:
        grids = [pivot_grid([part], down, across) for part in parts]
    return Report(grids, records(parts), notes(parts))


def result_grid(part: Part) -> Grid:
    """One row a configuration: labels, seeds, and the metrics.

    One metric has its mean, deviation, interval and standing in columns; several share the width.
    """
    lost = any(any(entry.row.lost.values()) for entry in part.entries)
    columns = [*_label_columns(part), Column("seeds", right=True)]
    if len(part.metrics) == 1 and part.seeded:
        columns += _full_columns(part)
    else:
        columns += [Column(name, right=True) for name in part.metrics]
    decided = {name: _decided(part.entries, name) for name in part.metrics}
    rows = []
    for entry in part.entries:
        row = [cell(entry.row.labels[name]) for name in part.by]
        row.append(cell(max((own.n for own in entry.spreads.values()), default=0)))
        ahead = {
            name: entry.row.panel in decided[name] and _standing(entry, name) in AHEAD
            for name in part.metrics
        }
        if len(part.metrics) == 1 and part.seeded:
            row += _full_cells(part, entry, ahead[part.metrics[0]])
        else:
            row += [_short_cell(entry.spreads[name], ahead[name]) for name in part.metrics]
        rows.append([*row, Cell(_lost_text(entry))] if lost else row)
    if lost:
        columns.append(Column("without result"))
    return Grid(columns, rows, title=_title(part), caption=_caption(part))


def cost_grid(part: Part) -> Grid:
    """What a run of each row took."""
    numbers = ("parameters", "steps", "seconds", "memory MB")
    columns = [*_label_columns(part), *(Column(name, right=True) for name in numbers)]
    rows = [
        [
            *(cell(entry.row.labels[name]) for name in part.by),
            Cell(_range_text(entry.cost.parameters)),
            Cell(_range_text(entry.cost.steps)),
            cell(entry.cost.seconds),
            cell(entry.cost.peak_memory_mb),
        ]
        for entry in part.entries
    ]
    return Grid(columns, rows, caption="What a run took: seconds on average, memory at most.")


def pivot_grid(parts: Sequence[Part], down: str, across: str, metric: str | None = None) -> Grid:
    """Mean, deviation and seeds in each cell, of a metric or of the first that a part has."""
    found = {
        key: (entry, metric or next(iter(part.metrics), ""))
        for part in parts
        for key, entry in _cells(part, down, across).items()
    }
    heads, sides = (sorted({key[i] for key in found}, key=natural) for i in (1, 0))
    short = short_names([down, across])
    metrics = {metric for _, metric in found.values()}
    columns, decided = [Column(short[down])], set()
    for head in heads:
        stack = [held for key, held in found.items() if key[1] == head]
        own = sorted({metric for _, metric in stack})
        named = "" if len(metrics) == 1 else f" {' or '.join(own)}"
        columns.append(Column(f"{short[across]}={setting_text(head)}{named}", right=True))
        if any(_standing(entry, metric) == "worse" for entry, metric in stack):
            decided.add(head)
    rows = [
        [cell(side), *(_pivot_cell(found.get((side, head)), head in decided) for head in heads)]
        for side in sides
    ]
    one = f"{metrics.pop()}: " if len(metrics) == 1 else ""
    caption = f"{one}{SHORT} {TESTS}"
    return Grid(columns, rows, f"{short[down]} x {short[across]}", caption)


def records(parts: Sequence[Part]) -> list[dict[str, object]]:
    """The tables for programs: a mapping for each row and metric."""
    labels = dict.fromkeys(["data", *(name for part in parts for name in part.by)])
    if not any("data" in part.by or part.data for part in parts):
        labels.pop("data")
    found = []
    for part in parts:
        given = {"data": part.data} if part.data else {}
        for entry in part.entries:
            own = given | entry.row.labels
            for name in part.metrics or (None,):
                found.append(
                    {label: own.get(label) for label in labels} | _record(part, entry, name)
                )
    return found


def notes(parts: Sequence[Part]) -> list[str]:
    """What must be read with the numbers, each sentence once."""
    several = len(parts) > 1
    found = [
        f"{part.data}: {text}" if several and part.data else text
        for part in parts
        for text in (*part.warnings, *advice(part))
    ]
    return list(dict.fromkeys(found))


def _record(part: Part, entry: Entry, name: str | None) -> dict[str, object]:
    own = entry.spreads[name] if name else spread([])
    verdict = entry.verdicts.get(name) if name else None
    parameters, steps = entry.cost.parameters, entry.cost.steps
    return {
        "metric": name,
        "better": part.frame.better.get(name) if name else None,
        "n": own.n,
        "mean": own.mean,
        "sd": own.sd,
        "low": own.low,
        "high": own.high,
        "standing": verdict.standing if verdict else None,
        "p": verdict.p if verdict else None,
        "pairs": verdict.test.pairs if verdict and verdict.test else None,
        "more_seeds": verdict.more if verdict else None,
        **entry.row.lost,
        "parameters": parameters[1] if parameters else None,
        "steps": steps[1] if steps else None,
        "seconds": entry.cost.seconds,
        "peak_memory_mb": entry.cost.peak_memory_mb,
    }


def _label_columns(part: Part) -> list[Column]:
    short = short_names(part.by)
    return [Column(short[name], right=_all_numbers(part, name)) for name in part.by]


def _all_numbers(part: Part, name: str) -> bool:
    return all(isinstance(entry.row.labels[name], int | float) for entry in part.entries)


def _full_columns(part: Part) -> list[Column]:
    metric = part.metrics[0]
    columns = [Column(metric, right=True), Column("sd", right=True, spare=True)]
    columns.append(Column("95% interval", right=True))
    if metric in part.frame.better:
        columns += [Column("standing"), Column("more seeds", right=True, spare=True)]
    return columns


def _full_cells(part: Part, entry: Entry, ahead: bool) -> list[Cell]:
    metric = part.metrics[0]
    own = entry.spreads[metric]
    cells = [cell(own.mean, ahead), cell(own.sd), Cell(_interval_text(own))]
    if metric in entry.verdicts:
        verdict = entry.verdicts[metric]
        cells += [Cell(verdict.standing), Cell(_more_text(verdict))]
    return cells


def _short_cell(own: Spread, ahead: bool, also: str = "") -> Cell:
    """Mean and deviation, and a star where the row is ahead."""
    if own.mean is None:
        return Cell(also or NOTHING)
    deviation = "" if own.sd is None else f" ± {number_text(own.sd)}"
    return Cell(f"{number_text(own.mean)}{deviation}{also}{' *' if ahead else ''}", ahead)


def _cells(part: Part, down: str, across: str) -> dict[tuple[Any, Any], Entry]:
    return {(e.row.labels[down], e.row.labels[across]): e for e in part.entries}


def _pivot_cell(held: tuple[Entry, str] | None, decided: bool) -> Cell:
    if held is None:
        return Cell(NOTHING)
    entry, metric = held
    own, lost = entry.spreads.get(metric, spread([])), _lost_text(entry)
    if own.mean is None:
        return Cell(lost or NOTHING)
    ahead = decided and _standing(entry, metric) in AHEAD
    return _short_cell(own, ahead, f" ({own.n}; {lost})" if lost else f" ({own.n})")


def _decided(entries: Sequence[Entry], name: str) -> set[tuple[Any, ...]]:
    """The panels in which some row is shown to be worse than the best: there the best stand out."""
    return {entry.row.panel for entry in entries if _standing(entry, name) == "worse"}


def _standing(entry: Entry, name: str) -> str | None:
    verdict = entry.verdicts.get(name)
    return verdict.standing if verdict else None


def _title(part: Part) -> str:
    rows, runs = len(part.entries), len(part.frame.table)
    ahead = f"{part.data}: " if part.data else ""
    noun = "configuration" if part.data else "row"
    return f"{ahead}{_count(rows, noun)}, {_count(runs, 'run')}"


def _caption(part: Part) -> str:
    ways = [
        f"{name}: {part.frame.better[name]} is better"
        if name in part.frame.better
        else f"{name} describes and does not rank"
        for name in part.metrics
    ]
    told = [f"{'; '.join(ways)}."] if ways else ["No run has a result."]
    if part.seeded:
        told.append(FULL if len(part.metrics) == 1 else SHORT)
        if any(name in part.frame.better for name in part.metrics):
            told.append(TESTS)
    same = _same_everywhere(part)
    return " ".join([*told, f"The same in every run: {same}."] if same else told)


def _same_everywhere(part: Part) -> str:
    """Each choice that all runs share, with the settings that they share."""
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


def _interval_text(own: Spread) -> str:
    return NOTHING if own.low is None else f"[{number_text(own.low)}, {number_text(own.high)}]"


def _more_text(verdict: Verdict) -> str:
    if verdict.standing != "tied":
        return ""
    return f"over {MOST_SEEDS}" if verdict.more is None else f"about {verdict.more}"


def _lost_text(entry: Entry) -> str:
    return ", ".join(f"{entry.row.lost[why]} {why}" for why in LOST if entry.row.lost[why])


def _range_text(ends: tuple[int, int] | None) -> str:
    if ends is None:
        return NOTHING
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
