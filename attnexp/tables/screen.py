"""Prints a report on the screen, and writes the same as plain text."""

import io
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment, Segments
from rich.style import Style
from rich.text import Text

from attnexp import console
from attnexp.tables.grid import Cell, Head, Report

GAP = 3
"""Blanks between two columns."""

BOLD = Style(bold=True)


def show(report: Report, limit: int, screen: Console = console.out) -> None:
    """Print a report, at most `limit` rows a table; 0 prints all.

    Where a table is too wide, spare columns are left out; where that is not enough, each column has
    a line of its own below the name of its row. Nothing is cut. The verdicts are above the tables.
    """
    for verdict in report.verdicts:
        screen.print(Text(verdict, "bold"), soft_wrap=True)
    for grid in report.grids:
        if grid.title:
            _say(screen, grid.title, "bold")
        rows = grid.rows[: limit or None]
        columns = fitting(grid.columns, rows, screen.width)
        heads = [grid.columns[i] for i in columns]
        entries = [[row[i] for i in columns] for row in rows]
        widths = _widths(heads, entries)
        if _width(widths) <= screen.width:
            screen.print(_table(screen, heads, entries, widths), soft_wrap=True)
        else:
            _stack(screen, heads, entries)
        left = [head.title for i, head in enumerate(grid.columns) if i not in columns]
        if left:
            _say(screen, f"Too narrow for {', '.join(left)}: see --metric and --format.")
        if len(rows) < len(grid.rows):
            _say(screen, f"{len(grid.rows) - len(rows)} more rows: --limit 0 shows all.")
        if grid.caption:
            _say(screen, grid.caption, "dim")
    for note in report.notes:
        screen.print(Text.assemble(("note:", "yellow"), " ", note), soft_wrap=True)


def as_text(report: Report) -> str:
    """Return the text on the screen, without colours and as wide as necessary."""
    text = io.StringIO()
    page = Console(file=text, width=console.WIDE, highlight=False, emoji=False, color_system=None)
    show(report, 0, page)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def fitting(heads: Sequence[Head], rows: Sequence[Sequence[Cell]], width: int) -> list[int]:
    """Return the columns that fit: spare ones go first, from the right."""
    widths = _widths(heads, rows)
    kept = list(range(len(heads)))
    for i in reversed(range(len(heads))):
        if heads[i].spare and _width([widths[k] for k in kept]) > width:
            kept.remove(i)
    return kept


def _say(screen: Console, text: str, style: str = "") -> None:
    screen.print(Text(text, style), soft_wrap=True)


def _table(
    screen: Console, heads: Sequence[Head], rows: Sequence[Sequence[Cell]], widths: Sequence[int]
) -> Segments:
    """Return a table in which nothing folds. A table of rich takes ten times as long."""
    lines = [list(_line([Cell(head.title, strong=True) for head in heads], heads, widths))]
    lines.append([Segment(("-" if screen.options.ascii_only else "─") * _width(widths))])
    lines += (list(_line(row, heads, widths)) for row in rows)
    return Segments([segment for line in lines for segment in (*line, Segment.line())])


def _line(row: Sequence[Cell], heads: Sequence[Head], widths: Sequence[int]) -> Iterator[Segment]:
    for i, (cell, head, width) in enumerate(zip(row, heads, widths, strict=True)):
        blanks = " " * (width - cell_len(cell.text))
        text = blanks + cell.text if head.right else cell.text + blanks
        yield Segment(" " * GAP * (i > 0) + text, BOLD if cell.strong else None)


def _stack(screen: Console, heads: Sequence[Head], rows: Sequence[Sequence[Cell]]) -> None:
    """Print the first column of each row, and below it a line for each of the others."""
    name, *others = heads
    wide = max((cell_len(head.title) for head in others), default=0)
    for first, *cells in rows:
        _say(screen, f"{name.title} {first.text}", "bold")
        for head, cell in zip(others, cells, strict=True):
            blanks = " " * (wide - cell_len(head.title) + GAP)
            line = Text.assemble(
                f"  {head.title}{blanks}", (cell.text, BOLD if cell.strong else "")
            )
            screen.print(line, soft_wrap=True)


def _widths(heads: Sequence[Head], rows: Sequence[Sequence[Cell]]) -> list[int]:
    return [
        max(cell_len(head.title), *(cell_len(row[i].text) for row in rows), 0)
        for i, head in enumerate(heads)
    ]


def _width(widths: Sequence[int]) -> int:
    """Return the width of a table whose columns have these."""
    return sum(widths) + GAP * (len(widths) - 1)
