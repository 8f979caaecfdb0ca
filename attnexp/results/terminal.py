"""A report on the screen, and the same as plain text."""

import io

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from attnexp import screen
from attnexp.results.grid import Grid, Report


def show(report: Report, limit: int, console: Console = screen.console) -> None:
    """Print a report, at most `limit` rows a table; 0 prints all."""
    for grid in report.grids:
        if grid.title:
            console.print(f"[bold]{escape(grid.title)}[/]", soft_wrap=True)
        shown = grid.rows[: limit or None]
        columns = _fitting(grid, console.width)
        console.print(_table(grid, columns, len(shown)))
        left = [column.title for i, column in enumerate(grid.columns) if i not in columns]
        if left:
            _say(console, f"No room for {', '.join(left)}: see --metric and --format.")
        if len(shown) < len(grid.rows):
            _say(console, f"{len(grid.rows) - len(shown)} more rows: --limit 0 shows all.")
        if grid.caption:
            _say(console, grid.caption)
    for note in report.notes:
        console.print(f"[yellow]note:[/] {escape(note)}", soft_wrap=True)


def as_text(report: Report) -> str:
    """What the screen shows, without colours and as wide as it needs to be."""
    text = io.StringIO()
    show(report, 0, Console(file=text, width=screen.WIDE, highlight=False, color_system=None))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def _say(console: Console, text: str) -> None:
    console.print(escape(text), soft_wrap=True)


def _table(grid: Grid, columns: list[int], rows: int) -> Table:
    heads = [grid.columns[i] for i in columns]
    table = screen.plain_table(
        [head.title for head in heads], right=[head.title for head in heads if head.right]
    )
    for row in grid.rows[:rows]:
        table.add_row(*(Text(row[i].text, "bold" if row[i].strong else "") for i in columns))
    return table


def _fitting(grid: Grid, width: int) -> list[int]:
    """The columns there is room for: spare ones go first, from the right."""
    widths = [
        max(len(column.title), *(len(row[i].text) for row in grid.rows), 0) + 2
        for i, column in enumerate(grid.columns)
    ]
    columns = list(range(len(widths)))
    for i in reversed(range(len(widths))):
        if sum(widths[i] for i in columns) <= width + 2:
            break
        if grid.columns[i].spare:
            columns.remove(i)
    return columns
