"""Writes a report as LaTeX: a table environment for each table, no wider than the line."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from attnexp.core.console import number_text
from attnexp.core.language import Phrase, said, say, translate
from attnexp.tables.grid import Grid, GridCell, Head, Report, folded, same_text
from attnexp.tables.paper import Paper

TEMPLATES = Path(__file__).parent / "templates"

PLAIN = Paper()

BOLD = r"\bfseries "
"""The prefix of a bold number in a siunitx column."""

DAGGER = r"$^\dagger$"
"""The mark of a row that has too few seeds for a verdict."""

LATIN = "\N{LATIN SMALL LETTER TURNED A}"
"""The first character that pdfLaTeX cannot print without further packages."""

PUNCTUATION = "\u2013\u2014\u2018\u2019\u201c\u201d\u2022\u2026\u20ac"
"""Later characters that pdfLaTeX can print: dashes, quotes, bullet, ellipsis and euro."""

SHOWN = 8
"""The most characters that a comment about unprintable characters names."""


@dataclass(frozen=True)
class LatexTable:
    """The parts of a table environment, in LaTeX; comments are plain text."""

    label: str
    caption: str
    columns: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    remarks: Sequence[str]
    comments: Sequence[str]


@dataclass(frozen=True)
class LatexColumn:
    """A column in LaTeX: the column specifier `kind`, the head and the cells."""

    kind: str
    head: str
    cells: Sequence[str]


def as_latex(report: Report, paper: Paper = PLAIN) -> str:
    """Return a table environment for each table; settings in common and notes are comments.

    Rules are those of booktabs, and numbers are in the columns `S` of siunitx.
    """
    tables = [_table(grid, place, paper) for place, grid in enumerate(report.grids, start=1)]
    content = {
        "beyond": _beyond_latin(tables),
        "tables": tables,
        "labelled": bool(paper.label),
        "choosable": any(head.word for grid in report.grids for head in grid.columns),
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
    """Return a template filled with the content; `syntax` sets the delimiters of jinja2."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        finalize=translate,
        **syntax,
    )
    return environment.get_template(name).render(content)


def latex_text(text: Phrase) -> str:
    """Return text escaped for LaTeX."""
    return "".join(_LATEX.get(character, character) for character in translate(text))


def _beyond_latin(tables: Sequence[LatexTable]) -> str:
    """Return the characters in the tables that pdfLaTeX cannot print, at most SHOWN."""
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
    columns = [
        _label_column(head, [row[i] for row in grid.rows])
        if i < grid.labels
        else _value_column(head, [row[i] for row in grid.rows], paper)
        for i, head in enumerate(grid.columns)
        if i not in once
    ]
    comments = [grid.more] if grid.more else []
    if grid.common:
        comments.append(translate(same_text(", ".join(grid.common))))
    return LatexTable(
        label=f"{paper.label}-{place}" if paper.label and place > 1 else paper.label,
        caption=_caption(grid, paper.caption if place == 1 else ""),
        columns=f"@{{}}{''.join(column.kind for column in columns)}@{{}}",
        heads=[column.head for column in columns],
        rows=list(zip(*(column.cells for column in columns), strict=True)),
        remarks=_remarks(grid, once, paper.digits),
        comments=comments,
    )


def _caption(grid: Grid, caption: str) -> str:
    """Return the requested caption, or title and caption of the table."""
    parts = (translate(grid.title), _one_line(grid.caption))
    return caption or latex_text(say(". ").join(filter(None, parts)))


def _remarks(grid: Grid, once: Sequence[int], digits: int | None) -> list[str]:
    """Return the values that all rows share, and the meaning of bold numbers and daggers."""
    remarks = []
    if once:
        same = (
            f"{latex_text(grid.columns[i].title)} {_text(grid.rows[0][i], digits)}" for i in once
        )
        remarks.append(say("In every row: {settings}.", settings=", ".join(same)))
    if any(cell.strong for row in grid.rows for cell in row):
        remarks.append(say("Bold: {rows}.", rows=latex_text(grid.bold)))
    if any(cell.unsure for row in grid.rows for cell in row):
        units = next((head.title for head in grid.columns if head.word == "seeds"), said("seeds"))
        remarks.append(DAGGER + say("Too few {units} for a verdict.", units=units))
    return remarks


def _label_column(head: Head, cells: Sequence[GridCell]) -> LatexColumn:
    texts = [latex_text(cell.text) + DAGGER * cell.unsure for cell in cells]
    return LatexColumn("r" if head.right else "l", latex_text(head.title), texts)


def _value_column(head: Head, cells: Sequence[GridCell], paper: Paper) -> LatexColumn:
    """Return a siunitx column if no cell has several numbers, else a column of text."""
    title = latex_text(head.short or head.title)
    digits = paper.digits if head.measured else None
    written = [_numbers(cell, digits) for cell in cells]
    alone = [cell.form == "{}" and math.isfinite(cell.numbers[0]) for cell in cells]
    numbers = [own[0] for own, one in zip(written, alone, strict=True) if one]
    if not numbers or any(len(own) > 1 for own in written):
        texts = [_text(cell, digits) for cell in cells]
        return LatexColumn("r" if head.right else "l", title, texts)
    texts = [
        rf"{BOLD * cell.strong}{own[0]}" if one else f"{{{latex_text(cell.text)}}}"
        for cell, own, one in zip(cells, written, alone, strict=True)
    ]
    return LatexColumn(f"S[table-format={_table_format(numbers)}]", f"{{{title}}}", texts)


def _text(cell: GridCell, digits: int | None) -> str:
    """Return a cell of a column of text: numbers are set in math mode."""
    if not cell.numbers:
        text = latex_text(cell.text)
        return rf"\textbf{{{text}}}" if cell.strong else text
    form = cell.form.removesuffix(" *").replace("±", r"\pm").replace("} [", r"}\ [")
    text = form.replace("{}", "%s") % tuple(map(_in_mathematics, _numbers(cell, digits)))
    return rf"$\mathbf{{{text}}}$" if cell.strong else f"${text}$"


def _numbers(cell: GridCell, digits: int | None) -> list[str]:
    """Return the numbers of a cell as text; `digits` does not apply to integers."""
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
    """Return the `table-format` of siunitx: signs, and the most digits of each part."""
    mantissas = [number.partition("e")[0] for number in numbers]
    exponents = [number.partition("e")[2] for number in numbers]
    whole = _signed_length([mantissa.partition(".")[0] for mantissa in mantissas])
    after = max(len(mantissa.partition(".")[2]) for mantissa in mantissas)
    point = f".{after}" if after else ""
    power = f"e{_signed_length(exponents)}" if any(exponents) else ""
    return f"{whole}{point}{power}"


def _signed_length(numbers: Sequence[str]) -> str:
    """Return the most digits of integers, with a minus if one is negative."""
    sign = "-" * any(number.startswith("-") for number in numbers)
    return f"{sign}{max(len(number.removeprefix('-')) for number in numbers)}"


def _one_line(text: Phrase) -> str:
    return " ".join(translate(text).split())
