"""Writes a report as LaTeX: a table environment for each table, fit for a page of two columns."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from attnexp.core.console import number_text
from attnexp.tables.filled import filled
from attnexp.tables.grid import COMMON, Cell, Grid, Head, Report, folded
from attnexp.tables.paper import Paper

CHARACTER, POINT = 4.6, 2.6
"""The widths in pt of a digit and of a point or bracket, in `small` type on a page of 10 pt."""

POINTS = ".,:;[]()' "
"""The characters as wide as a point."""

GAP = 8.0
"""The width between two columns of a table in pt."""

NARROW, PAGE = 219.0, 455.0
"""The width of a column and of a page of the narrowest papers with two columns, in pt."""

PLAIN = Paper()
"""A paper that asks for nothing."""

BOLD = r"\bfseries "
"""The beginning of a bold number in a column of siunitx."""

DAGGER = r"$^\dagger$"
"""The mark of a row that has too few seeds for a verdict."""


@dataclass(frozen=True)
class Table:
    """The parts of a table environment, in LaTeX; the comments are plain text."""

    label: str
    caption: str
    environment: str
    columns: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    remarks: Sequence[str]
    comments: Sequence[str]


@dataclass(frozen=True)
class Column:
    """A column in LaTeX, and its width in pt."""

    kind: str
    head: str
    cells: Sequence[str]
    width: float


def as_latex(report: Report, paper: Paper = PLAIN) -> str:
    """Return a table environment for each table; settings in common and notes are comments.

    Rules are those of booktabs, and numbers are in the columns `S` of siunitx.
    """
    grids = [replace(grid, rows=list(grid.rows)) for grid in report.grids]
    tables = [_table(grid, place, paper) for place, grid in enumerate(grids, start=1)]
    content = {
        "tables": tables,
        "labelled": bool(paper.label),
        "sentences": [*report.verdicts, *report.notes],
        "one_line": _one_line,
    }
    return filled(
        "tables.tex",
        content,
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
    )


def latex_text(text: str) -> str:
    """Return text that LaTeX prints as it is."""
    return "".join(_LATEX.get(character, character) for character in text)


_LATEX = {
    **{character: f"\\{character}" for character in "{}&%$#_"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "\N{EN DASH}": "--",
    # After a line break LaTeX reads these as arguments.
    **{character: f"{{{character}}}" for character in "[]*"},
}


def _table(grid: Grid, place: int, paper: Paper) -> Table:
    once = folded(grid, grid.rows)
    every = {
        i: _label_column(head, [row[i] for row in grid.rows])
        if i < grid.labels
        else _value_column(head, [row[i] for row in grid.rows], paper.digits)
        for i, head in enumerate(grid.columns)
        if i not in once
    }
    comments = [f"{COMMON}{', '.join(grid.common)}."] if grid.common else []
    spare = sorted(
        (i for i in every if grid.columns[i].spare), key=lambda i: (-grid.columns[i].spare, i)
    )
    left_out = []
    while _width(every.values()) > PAGE and spare:
        left_out.append(spare.pop())
        del every[left_out[-1]]
    if left_out:
        heads = [grid.columns[i] for i in sorted(left_out)]
        choose = ": --columns chooses the columns" if any(head.word for head in heads) else ""
        comments.append(f"A page is too narrow for {', '.join(h.title for h in heads)}{choose}.")
    columns = list(every.values())
    return Table(
        label=f"{paper.label}-{place}" if paper.label and place > 1 else paper.label,
        caption=_caption(grid, paper.caption if place == 1 else ""),
        environment="table*" if _width(columns) > NARROW else "table",
        columns=f"@{{}}{''.join(column.kind for column in columns)}@{{}}",
        heads=[column.head for column in columns],
        rows=list(zip(*(column.cells for column in columns), strict=True)),
        remarks=_remarks(grid, once, paper.digits),
        comments=comments,
    )


def _width(columns: Collection[Column]) -> float:
    """Return about how wide a table is, in pt."""
    return sum(column.width for column in columns) + GAP * (len(columns) - 1)


def _text_width(text: str) -> float:
    return sum(POINT if character in POINTS else CHARACTER for character in text)


def _caption(grid: Grid, caption: str) -> str:
    """Return the caption that was asked for, or title and caption of the table."""
    parts = (grid.title, _one_line(grid.caption))
    return caption or latex_text(". ".join(filter(None, parts)))


def _remarks(grid: Grid, once: Sequence[int], digits: int | None) -> list[str]:
    """Return the values that all rows share, and the meaning of bold numbers and daggers."""
    remarks = []
    if once:
        same = (
            f"{latex_text(grid.columns[i].title)} {_text(grid.rows[0][i], digits)}" for i in once
        )
        remarks.append(f"In every row: {', '.join(same)}.")
    if any(cell.strong for row in grid.rows for cell in row):
        remarks.append(f"Bold: {latex_text(grid.bold)}.")
    if any(cell.unsure for row in grid.rows for cell in row):
        units = next((head.title for head in grid.columns if head.word == "seeds"), "seeds")
        remarks.append(f"{DAGGER}Too few {units} for a verdict.")
    return remarks


def _label_column(head: Head, cells: Sequence[Cell]) -> Column:
    texts = [latex_text(cell.text) + DAGGER * cell.unsure for cell in cells]
    width = max(map(_text_width, (head.title, *(cell.text for cell in cells))))
    return Column("r" if head.right else "l", latex_text(head.title), texts, width)


def _value_column(head: Head, cells: Sequence[Cell], digits: int | None) -> Column:
    """Return a column of siunitx if all cells are numbers or empty, else a column of text."""
    title = head.short or head.title
    digits = digits if head.measured else None
    written = [_numbers(cell, digits) for cell in cells]
    plain = [
        cell.form.format(*own) if own else cell.text
        for cell, own in zip(cells, written, strict=True)
    ]
    width = max(map(_text_width, (title, *plain)))
    alone = [cell.form == "{}" and math.isfinite(cell.numbers[0]) for cell in cells]
    numbers = [own[0] for own, one in zip(written, alone, strict=True) if one]
    if not numbers or any(len(own) > 1 for own in written):
        texts = [_text(cell, digits) for cell in cells]
        return Column("r" if head.right else "l", latex_text(title), texts, width)
    texts = [
        rf"{BOLD * cell.strong}{own[0]}" if one else f"{{{latex_text(cell.text)}}}"
        for cell, own, one in zip(cells, written, alone, strict=True)
    ]
    return Column(
        f"S[table-format={_table_format(numbers)}]", f"{{{latex_text(title)}}}", texts, width
    )


def _text(cell: Cell, digits: int | None) -> str:
    """Return a cell outside of a column of siunitx: numbers are set as mathematics."""
    if not cell.numbers:
        text = latex_text(cell.text)
        return rf"\textbf{{{text}}}" if cell.strong else text
    form = cell.form.removesuffix(" *").replace("±", r"\pm").replace("} [", r"}\ [")
    text = form.replace("{}", "%s") % tuple(map(_in_mathematics, _numbers(cell, digits)))
    return rf"$\mathbf{{{text}}}$" if cell.strong else f"${text}$"


def _numbers(cell: Cell, digits: int | None) -> list[str]:
    """Return the numbers of a cell; whole ones, such as counts, have no digits after the point."""
    return [
        _with_plain_exponent(number_text(value))
        if digits is None or isinstance(value, int)
        else f"{value:z.{digits}f}"
        for value in cell.numbers
    ]


def _with_plain_exponent(number: str) -> str:
    mantissa, e, exponent = number.partition("e")
    return f"{mantissa}e{int(exponent)}" if e else number


def _in_mathematics(number: str) -> str:
    mantissa, e, exponent = number.partition("e")
    return rf"{mantissa} \times 10^{{{exponent}}}" if e else number


def _table_format(numbers: Sequence[str]) -> str:
    """Return the places that siunitx keeps for numbers: signs, and the most digits of each part."""
    mantissas = [number.partition("e")[0] for number in numbers]
    exponents = [number.partition("e")[2] for number in numbers]
    whole = _signed_length([mantissa.partition(".")[0] for mantissa in mantissas])
    after = max(len(mantissa.partition(".")[2]) for mantissa in mantissas)
    point = f".{after}" if after else ""
    power = f"e{_signed_length(exponents)}" if any(exponents) else ""
    return f"{whole}{point}{power}"


def _signed_length(numbers: Sequence[str]) -> str:
    """Return the most digits of whole numbers, with a minus if one of them has it."""
    sign = "-" * any(number.startswith("-") for number in numbers)
    return f"{sign}{max(len(number.removeprefix('-')) for number in numbers)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
