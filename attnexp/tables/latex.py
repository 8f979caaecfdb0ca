"""Writes a report as LaTeX: a table environment for each table, fit for a page of two columns."""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from attnexp.core.console import number_text
from attnexp.tables.grid import Grid, GridCell, Head, Report, folded, same_text
from attnexp.tables.paper import BOLD_TYPE, FORMULA, Paper, text_width

TEMPLATES = Path(__file__).parent / "templates"

SIZE = 9.25
"""The size of `small` type on a page of 10 pt: 9 pt, in which Computer Modern is a little wider."""

GAP = 8.0
"""The width between two columns of a table in pt."""

PLAIN = Paper()

BOLD = r"\bfseries "
"""The beginning of a bold number in a column of siunitx."""

DAGGER = r"$^\dagger$"
"""The mark of a row that has too few seeds for a verdict."""

MARK = 0.45
"""The width of the mark, as a part of the size of type."""

LATIN = "\N{LATIN SMALL LETTER TURNED A}"
"""The first character that pdfLaTeX cannot print without further packages."""

PUNCTUATION = "\u2013\u2014\u2018\u2019\u201c\u201d\u2022\u2026\u20ac"
"""The characters beyond it that it has: dashes, quotes, a bullet, an ellipsis and the euro."""

SHOWN = 8
"""Characters beyond Latin that a comment names."""


@dataclass(frozen=True)
class LatexTable:
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
class LatexColumn:
    """A column in LaTeX, and its width in pt."""

    kind: str
    head: str
    cells: Sequence[str]
    width: float


def as_latex(report: Report, paper: Paper = PLAIN) -> str:
    """Return a table environment for each table; settings in common and notes are comments.

    Rules are those of booktabs, and numbers are in the columns `S` of siunitx.
    """
    tables = [_table(grid, place, paper) for place, grid in enumerate(report.grids, start=1)]
    content = {
        "beyond": _beyond_latin(tables),
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


def filled(name: str, content: dict[str, Any], **syntax: Any) -> str:
    """Return a template filled with the content, in the syntax of its format."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        **syntax,
    )
    return environment.get_template(name).render(content)


def latex_text(text: str) -> str:
    """Return text that LaTeX prints as it is."""
    return "".join(_LATEX.get(character, character) for character in text)


def _beyond_latin(tables: Sequence[LatexTable]) -> str:
    """Return the first characters in print that pdfLaTeX cannot print."""
    printed = [
        text
        for table in tables
        for text in (table.caption, *table.heads, *chain(*table.rows), *table.remarks)
    ]
    beyond = [each for each in dict.fromkeys("".join(printed)) if each >= LATIN]
    beyond = [each for each in beyond if each not in PUNCTUATION]
    return "".join(beyond[:SHOWN]) + "..." * (len(beyond) > SHOWN)


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


def _table(grid: Grid, place: int, paper: Paper) -> LatexTable:
    once = folded(grid, grid.rows)
    every = {
        i: _label_column(head, [row[i] for row in grid.rows], paper)
        if i < grid.labels
        else _value_column(head, [row[i] for row in grid.rows], paper)
        for i, head in enumerate(grid.columns)
        if i not in once
    }
    comments = [grid.more] if grid.more else []
    if grid.common:
        comments.append(same_text(", ".join(grid.common)))
    spare = sorted(
        (i for i in every if grid.columns[i].spare), key=lambda i: (-grid.columns[i].spare, i)
    )
    left_out = []
    while _width(every.values()) > paper.page.text and spare:
        left_out.append(spare.pop())
        del every[left_out[-1]]
    if left_out:
        heads = [grid.columns[i] for i in sorted(left_out)]
        choose = ": --columns chooses the columns" if any(head.word for head in heads) else ""
        comments.append(f"A page is too narrow for {', '.join(h.title for h in heads)}{choose}.")
    columns = list(every.values())
    width = _width(columns)
    if width > paper.page.text:
        comments.append(
            f"The table is about {width:.0f} pt wide, and the text {paper.page.text:.0f} pt: "
            "--columns chooses fewer columns, and --by shorter labels."
        )
    return LatexTable(
        label=f"{paper.label}-{place}" if paper.label and place > 1 else paper.label,
        caption=_caption(grid, paper.caption if place == 1 else ""),
        environment="table*" if width > paper.page.column < paper.page.text else "table",
        columns=f"@{{}}{''.join(column.kind for column in columns)}@{{}}",
        heads=[column.head for column in columns],
        rows=list(zip(*(column.cells for column in columns), strict=True)),
        remarks=_remarks(grid, once, paper.digits),
        comments=comments,
    )


def _width(columns: Collection[LatexColumn]) -> float:
    """Return about how wide a table is, in pt."""
    return sum(column.width for column in columns) + GAP * (len(columns) - 1)


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


def _label_column(head: Head, cells: Sequence[GridCell], paper: Paper) -> LatexColumn:
    texts = [latex_text(cell.text) + DAGGER * cell.unsure for cell in cells]
    widths = paper.page.characters
    marked = [text_width(cell.text, widths) + MARK * cell.unsure for cell in cells]
    width = SIZE * max(text_width(head.title, widths), *marked, 0.0)
    return LatexColumn("r" if head.right else "l", latex_text(head.title), texts, width)


def _value_column(head: Head, cells: Sequence[GridCell], paper: Paper) -> LatexColumn:
    """Return a column of siunitx if all cells are numbers or empty, else a column of text."""
    title = head.short or head.title
    digits = paper.digits if head.measured else None
    written = [_numbers(cell, digits) for cell in cells]
    characters = paper.page.characters
    widths = [text_width(title, characters)]
    for cell, own in zip(cells, written, strict=True):
        form = cell.form.removesuffix(" *")
        plain = text_width(form.format(*own), FORMULA) if own else text_width(cell.text, characters)
        widths.append(plain * (BOLD_TYPE if cell.strong else 1.0))
    alone = [cell.form == "{}" and math.isfinite(cell.numbers[0]) for cell in cells]
    numbers = [own[0] for own, one in zip(written, alone, strict=True) if one]
    if not numbers or any(len(own) > 1 for own in written):
        texts = [_text(cell, digits) for cell in cells]
        kind = "r" if head.right else "l"
        return LatexColumn(kind, latex_text(title), texts, SIZE * max(widths))
    texts = [
        rf"{BOLD * cell.strong}{own[0]}" if one else f"{{{latex_text(cell.text)}}}"
        for cell, own, one in zip(cells, written, alone, strict=True)
    ]
    form = _table_format(numbers)
    bold = BOLD_TYPE if any(cell.strong for cell in cells) else 1.0
    width = SIZE * max(*widths, bold * text_width(_longest(form), FORMULA))
    return LatexColumn(f"S[table-format={form}]", f"{{{latex_text(title)}}}", texts, width)


def _text(cell: GridCell, digits: int | None) -> str:
    """Return a cell outside of a column of siunitx: numbers are set as mathematics."""
    if not cell.numbers:
        text = latex_text(cell.text)
        return rf"\textbf{{{text}}}" if cell.strong else text
    form = cell.form.removesuffix(" *").replace("±", r"\pm").replace("} [", r"}\ [")
    text = form.replace("{}", "%s") % tuple(map(_in_mathematics, _numbers(cell, digits)))
    return rf"$\mathbf{{{text}}}$" if cell.strong else f"${text}$"


def _numbers(cell: GridCell, digits: int | None) -> list[str]:
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


def _longest(form: str) -> str:
    """Return a number that takes all the places of a format, such as -00.0e-0 of -2.1e-1."""
    return re.sub(r"\d+", lambda places: "0" * int(places[0]), form)


def _signed_length(numbers: Sequence[str]) -> str:
    """Return the most digits of whole numbers, with a minus if one of them has it."""
    sign = "-" * any(number.startswith("-") for number in numbers)
    return f"{sign}{max(len(number.removeprefix('-')) for number in numbers)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
