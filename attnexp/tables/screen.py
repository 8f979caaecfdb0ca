"""Prints a report on the screen or as plain text."""

import io
import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.segment import Segment, Segments
from rich.style import Style
from rich.text import Text

from attnexp.core import console
from attnexp.core.language import Phrase, counted, joined, said, say, translate
from attnexp.tables.grid import Grid, GridCell, Head, Report, folded, same_text

GAP = 3
"""Blanks between two columns."""

SHORTEST = 8
"""The least width of names that are cut."""

BOLD = Style(bold=True)

BEFORE_COMMAND = re.compile("(: |\N{FULLWIDTH COLON})(?=attnexp )")
"""The end of a note before its command."""


def show(report: Report, screen: Console | None = None) -> None:
    """Print a report.

    Verdicts are above the tables. A row is one line: if a table is too wide, spare columns are left
    out, then the labels of a row become one name, cut in its middle. Numbers are never cut. On a
    terminal sentences break between words.
    """
    screen = screen or console.screen.out
    for verdict in report.verdicts:
        _print(screen, verdict, "bold")
    for grid in report.grids:
        _show_grid(grid, screen)
    for note in report.notes:
        sentence, command = translate(note), ""
        if screen.is_terminal and (found := BEFORE_COMMAND.search(sentence)):
            command, sentence = sentence[found.end() :], sentence[: found.end()].rstrip()
        _print(screen, Text.assemble((say("note: "), "note"), sentence))
        if command:
            screen.print(Text(f"  {command}"), soft_wrap=True)
    if report.further:
        more = counted("{count} more note", len(report.further))
        _print(screen, said("{what}: {text}", what=more, text="--explain"), "dim")


def _show_grid(grid: Grid, screen: Console) -> None:
    shown = grid.rows
    once = dict.fromkeys(folded(grid, shown))
    if grid.title:
        same = [joined(" ", [grid.columns[i].title, shown[0][i].text]) for i in once]
        _print(
            screen,
            joined(said("; "), [grid.title, *([joined(said(", "), same)] if same else [])]),
            "bold",
        )
    kept = [i for i in range(len(grid.columns)) if i not in once or not grid.title]
    heads, rows = [grid.columns[i] for i in kept], [[row[i] for i in kept] for row in shown]
    for spare in (1, 2):
        columns = fitting(heads, rows, screen.width, spare)
        shown_heads = [heads[i] for i in columns]
        cells = [[row[i] for i in columns] for row in rows]
        if _width(_widths(shown_heads, cells)) > screen.width:
            shown_heads, cells = _named(shown_heads, cells, grid.labels, screen.width)
        if _width(_widths(shown_heads, cells)) <= screen.width:
            break
    stayed = set(columns)
    left = [translate(head.title) for i, head in enumerate(heads) if i not in stayed]
    heads, rows = shown_heads, cells
    screen.print(_table(screen, heads, rows, _widths(heads, rows)), soft_wrap=True)
    if left:
        _print(screen, f"Too narrow for {', '.join(left)}.", "dim")
    if grid.more:
        _print(screen, grid.more)
    if caption := joined(" ", filter(None, [grid.caption, grid.legend])):
        _print(screen, caption, "dim")
    if grid.common:
        _print(screen, _one_line(grid.common, screen.width), "dim")


def _named(
    heads: Sequence[Head], rows: Sequence[Sequence[GridCell]], labels: int, width: int
) -> tuple[list[Head], list[list[GridCell]]]:
    """Return a table in which the labels are one column, cut to the remaining width.

    The column is wider if two names would become the same.
    """
    titles = [translate(head.title) for head in heads[:labels]]
    ends = [title.rpartition(".")[2] for title in titles]
    title = ", ".join(ends if len(set(ends)) == labels else titles)
    names = [", ".join(translate(cell.text) for cell in row[:labels]) for row in rows]
    others = [row[labels:] for row in rows]
    left = width - _width(_widths(heads[labels:], others)) - GAP
    room = _telling(names, max(left, SHORTEST))
    cut = [GridCell(_cut(name, room)) for name in names]
    head = Head(_cut(title, room))
    return [head, *heads[labels:]], [[name, *row] for name, row in zip(cut, others, strict=True)]


def _telling(names: Sequence[str], least: int) -> int:
    """Return the least width, from `least` on, at which cut names stay distinct."""
    longest = max(map(cell_len, names), default=least)
    apart = len(set(names))
    widths = range(least, max(longest, least) + 1)
    return next(w for w in widths if w >= longest or len({_cut(n, w) for n in names}) == apart)


def _cut(text: str, width: int) -> str:
    """Return a text without its middle if it is wider than `width`."""
    if cell_len(text) <= width:
        return text
    before = (width - 1) // 2
    last = set_cell_size(text[::-1], width - 1 - before)[::-1]
    return f"{set_cell_size(text, before)}\N{HORIZONTAL ELLIPSIS}{last}"


def _one_line(settings: Sequence[str], width: int) -> str:
    """Return one line with the settings in common; those that do not fit are counted."""
    for count in range(len(settings), 0, -1):
        more = f" and {len(settings) - count} more" if count < len(settings) else ""
        line = translate(same_text(", ".join(settings[:count]) + more))
        if cell_len(line) <= width:
            return line
    are = "setting is" if len(settings) == 1 else "settings are"
    return f"{len(settings)} {are} the same in every run."


def as_text(report: Report) -> str:
    """Return a report as on the screen, without colours and as wide as necessary."""
    text = io.StringIO()
    page = Console(file=text, width=console.WIDE, highlight=False, emoji=False, color_system=None)
    show(report, page)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def fitting(
    heads: Sequence[Head], rows: Sequence[Sequence[GridCell]], width: int, most: int = 1
) -> list[int]:
    """Return the places of columns that fit, without columns with `spare` from 1 to `most`.

    Only as many as necessary are left out, from the right.
    """
    widths = _widths(heads, rows)
    total, left_out = _width(widths), set[int]()
    for i in reversed(range(len(heads))):
        if 0 < heads[i].spare <= most and total > width:
            total -= widths[i] + GAP
            left_out.add(i)
    return [i for i in range(len(heads)) if i not in left_out]


def _print(screen: Console, text: Phrase | Text, style: str = "") -> None:
    """Print a text that breaks between words on a terminal, and else stays one line."""
    line = text if isinstance(text, Text) else Text(translate(text), style)
    screen.print(line, soft_wrap=not screen.is_terminal)


def _table(
    screen: Console,
    heads: Sequence[Head],
    rows: Sequence[Sequence[GridCell]],
    widths: Sequence[int],
) -> Segments:
    """Return a table without line breaks in cells. A table of rich takes ten times as long."""
    lines = [list(_line([GridCell(head.title, strong=True) for head in heads], heads, widths))]
    lines.append([Segment(("-" if screen.options.ascii_only else "─") * _width(widths))])
    lines += (list(_line(row, heads, widths)) for row in rows)
    return Segments([segment for line in lines for segment in (*line, Segment.line())])


def _line(
    row: Sequence[GridCell], heads: Sequence[Head], widths: Sequence[int]
) -> Iterator[Segment]:
    for i, (cell, head, width) in enumerate(zip(row, heads, widths, strict=True)):
        text = translate(cell.text)
        blanks = " " * (width - cell_len(text))
        text = blanks + text if head.right else text + blanks
        yield Segment(" " * GAP * (i > 0) + text, BOLD if cell.strong else None)


def _widths(heads: Sequence[Head], rows: Sequence[Sequence[GridCell]]) -> list[int]:
    return [
        max(cell_len(translate(head.title)), *(cell_len(translate(row[i].text)) for row in rows), 0)
        for i, head in enumerate(heads)
    ]


def _width(widths: Sequence[int]) -> int:
    """Return the width of a table from the widths of its columns."""
    return sum(widths) + GAP * (len(widths) - 1)
