"""The results of a report as plain values: tables, and the numbers that a picture shows."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from attnexp.core.language import Phrase, Text, joined, numbered, said
from attnexp.plots.lines import spread_over_powers
from attnexp.report.page import DotRow, Dots, Heading, Result, TextCell, TextTable
from attnexp.runs.files import finite
from attnexp.select.configurations import Comparison
from attnexp.select.frame import Frame
from attnexp.tables.entries import ResultsTable, TableEntry
from attnexp.tables.grid import NOTHING, Grid, GridCell, Head, Line, listed
from attnexp.tables.reports import better_words, runs_report
from attnexp.tables.sentences import row_name, verdicts

ROWS = 40
"""The most configurations in the picture of a metric. The table has all of them."""

APART = said("not compared: other data")
EACH_APART = said("not compared: each row has other data")
OTHERS = said("other data: compared with each other")
"""What is written above rows that are not compared with those before them."""

FIRST = ("mean", "standing")
"""The columns that come right after the name of a row, so that they are seen without scrolling."""


def result_of(table: ResultsTable, results: Grid, costs: Grid) -> Result:
    """Return a table of results with its comparison in words, its picture and its costs."""
    return Result(
        table.data_name or said("Runs"),
        compared_text(table, results),
        _dots(table),
        text_table(_named(table, results)),
        text_table(_named(table, costs)),
        [*verdicts(table)],
    )


def place_of(comparison: Comparison, tables: Sequence[ResultsTable]) -> int:
    """Return the index of the table whose rows are the runs of a comparison."""
    run = comparison.configurations[0].runs[0]
    fits = [
        (table.data == run.data, run.summary.primary in table.metrics, -place)
        for place, table in enumerate(tables)
    ]
    return -max(fits)[2]


def compared_text(table: ResultsTable, results: Grid) -> Text:
    """Return in words what is compared: data, configurations, runs, seeds, and the metric."""
    parts = [results.title, _seeds(table.frame)]
    if table.metrics:
        metric = table.metrics[0]
        better = table.frame.better.get(metric)
        title = table.titles[metric]
        parts.append(joined(said(", "), [title, better_words(better)]) if better else title)
    return joined(said("; "), parts)


def _seeds(frame: Frame) -> Text:
    seeds = sorted({int(seed) for seed in frame.data["seed"]})
    if len(seeds) == 1:
        return numbered(said("seed"), seeds[0])
    if len(seeds) > 2 and seeds == list(range(seeds[0], seeds[-1] + 1)):
        return said("seeds {first} to {last}", first=seeds[0], last=seeds[-1])
    return joined(" ", [said("seeds"), listed(seeds)])


def _dots(table: ResultsTable) -> Dots | None:
    """Return the picture of a metric, in the order of the table; None for fewer than two rows."""
    rows = [entry for entry in table.firsts if entry.spread.mean is not None]
    if len(rows) < 2:
        return None
    shown = rows[:ROWS]
    log = spread_over_powers([entry.spread for entry in shown])
    metric, omitted = table.metrics[0], len(rows) - len(shown)
    dots = [_dot(table, *each) for each in zip(shown, _above(table, shown), strict=True)]
    return Dots(table.titles[metric], table.frame.better.get(metric), log, omitted, dots)


def _above(table: ResultsTable, shown: Sequence[TableEntry]) -> Iterable[Phrase]:
    """Yield the words above each row: why it is not compared with the one before, or nothing."""
    panels = {id(entry): panel for panel in table.panels for entry in panel}
    if len(table.panels) > 1 and all(len(panel) == 1 for panel in table.panels):
        yield EACH_APART
        yield from [""] * (len(shown) - 1)
        return
    before = panels[id(shown[0])]
    for entry in shown:
        own = panels[id(entry)]
        alone = len(own) == 1
        if own is before or (alone and len(before) == 1):
            yield ""
        else:
            yield APART if alone else OTHERS
        before = own


def _dot(table: ResultsTable, entry: TableEntry, above: Phrase) -> DotRow:
    low, high = finite(entry.spread.interval)
    seeds = entry.spread.values if len(entry.spread.values) > 1 else ()
    return DotRow(row_name(table, entry), entry.spread.mean, low, high, seeds, above)


def _named(table: ResultsTable, grid: Grid) -> Grid:
    """Return a grid that begins with one column for the name of each row: the labels that differ.

    The mean and the standing follow. If a name is made of several labels, these have columns of
    their own at the end.
    """
    after = range(grid.labels, len(grid.columns))
    first = [i for i in after if grid.columns[i].word in FIRST]
    others = [i for i in after if i not in first]
    places = {name: place for place, name in enumerate(table.by)}
    telling = [places[name] for name in table.telling]
    several = telling if len(telling) > 1 else []
    title = grid.columns[telling[0]].title if len(telling) == 1 else said("configuration")
    order = [*first, *others, *several]
    lines = [
        Line([GridCell(row_name(table, entry)), *(row[i] for i in order)])
        for entry, row in zip(table.firsts, grid.rows, strict=True)
    ]
    heads = [Head(title), *(grid.columns[i] for i in order)]
    return replace(grid, columns=heads, lines=lines, labels=1)


def text_table(grid: Grid, spare: Sequence[int] = ()) -> TextTable:
    """Return a table of texts. The columns at `spare` are hidden until somebody asks for them."""
    hidden = set(spare)
    heads = [Heading(head.title, head.right, i in hidden) for i, head in enumerate(grid.columns)]
    rows = [[TextCell(cell.text, cell.strong) for cell in row] for row in grid.rows]
    return TextTable(grid.title, grid.full_caption, heads, rows)


def every_run(frame: Frame) -> Iterable[TextTable]:
    """Yield a table for each data set, with one row per run.

    Hidden at first are settings that all rows share, and every metric but the primary one. A metric
    that no run has is left out.
    """
    for own in frame.groups(name for name in frame.choices if name == "data"):
        name = own.data["data"].iat[0] if "data" in frame.choices else "Runs"
        grid = _without_gaps(runs_report(own, []).grids[0])
        headline = {frame.renaming.title(str(metric)) for metric in own.data["primary"]}
        spare = [
            i
            for i, head in enumerate(grid.columns)
            if (head.title not in headline if head.measured else _is_common(grid, i))
        ]
        yield text_table(replace(grid, title=frame.renaming(str(name))), spare)


def _without_gaps(grid: Grid) -> Grid:
    """Return a grid without the columns of metrics that no row has."""
    kept = [
        i
        for i, head in enumerate(grid.columns)
        if not head.measured or any(row[i].text != NOTHING for row in grid.rows)
    ]
    return grid.chosen([grid.columns[i] for i in kept], kept)


def _is_common(grid: Grid, column: int) -> bool:
    """Return whether all rows have the same in a column of labels, other than the seed."""
    texts = {row[column].text for row in grid.rows}
    return len(grid.rows) > 1 and len(texts) == 1 and grid.columns[column].title != "seed"
