"""A report on the screen, and the same as plain text."""

import io
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from attnexp import console
from attnexp.tables.table import Cell, Head, Report

GAP = 3
"""Blanks between two columns."""


def show(report: Report, limit: int, screen: Console = console.out) -> None:
    """Print a report, at most `limit` rows a table; 0 prints all."""
    for grid in report.grids:
        if grid.title:
            _say(screen, grid.title, "bold")
        rows = grid.rows[: limit or None]
        columns = fitting(grid.columns, rows, screen.width)
        entries = [[row[i] for i in columns] for row in rows]
        screen.print(_table([grid.columns[i] for i in columns], entries, screen.width))
        left = [column.title for i, column in enumerate(grid.columns) if i not in columns]
        if left:
            _say(screen, f"No room for {', '.join(left)}: see --metric and --format.")
        if len(rows) < len(grid.rows):
            _say(screen, f"{len(grid.rows) - len(rows)} more rows: --limit 0 shows all.")
        if grid.caption:
            _say(screen, grid.caption, "dim")
    for note in report.notes:
        screen.print(Text.assemble(("note:", "yellow"), " ", note), soft_wrap=True)


def as_text(report: Report) -> str:
    """What the screen shows, without colours and as wide as it needs to be."""
    text = io.StringIO()
    page = Console(file=text, width=console.WIDE, highlight=False, emoji=False, color_system=None)
    show(report, 0, page)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def fitting(columns: Sequence[Head], rows: Sequence[Sequence[Cell]], width: int) -> list[int]:
    """The columns that there is room for: spare ones go first, from the right."""
    widths = _widths(columns, rows)
    kept = list(range(len(columns)))
    for i in reversed(range(len(columns))):
        if sum(widths[k] + GAP for k in kept) - GAP <= width:
            break
        if columns[i].spare:
            kept.remove(i)
    return kept


def _say(screen: Console, text: str, style: str = "") -> None:
    screen.print(Text(text, style), soft_wrap=True)


def _table(columns: Sequence[Head], rows: Sequence[Sequence[Cell]], width: int) -> Table:
    table = console.plain_table(
        [column.title for column in columns],
        right=[column.title for column in columns if column.right],
    )
    if rows and sum(_widths(columns, rows)) + GAP * (len(columns) - 1) <= width:
        # Nothing folds, so that one row of many lines looks the same; it is drawn in a third of
        # the time.
        table.add_row(*(_lines([row[i] for row in rows]) for i in range(len(columns))))
    else:
        for row in rows:
            table.add_row(*(_lines([cell]) for cell in row))
    return table


def _lines(cells: Sequence[Cell]) -> Text:
    text = Text()
    for i, cell in enumerate(cells):
        text.append("\n" if i else "").append(cell.text, "bold" if cell.strong else None)
    return text


def _widths(columns: Sequence[Head], rows: Sequence[Sequence[Cell]]) -> list[int]:
    return [
        max(cell_len(column.title), *(cell_len(row[i].text) for row in rows), 0)
        for i, column in enumerate(columns)
    ]
