"""Writes a report as text, one function a format, each escaping what its language misreads."""

import csv
import io
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from attnexp.tables.table import Grid, Head, Report
from attnexp.tables.terminal import as_text

FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""How text begins that a spreadsheet computes."""

TEMPLATES = Path(__file__).parent / "templates"
"""The page and the LaTeX tables, each a file of its own."""


def as_csv(report: Report) -> str:
    """Return the records, a line each, under their names. What is missing is empty.

    Text that a spreadsheet would compute has an apostrophe in front, which makes it text there.
    """
    text = io.StringIO()
    if report.records:
        names = list(report.records[0])
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(map(csv_text, names))
        for row in report.records:
            values = [row[name] for name in names]
            writer.writerow("" if _missing(value) else csv_text(value) for value in values)
    return text.getvalue()


def csv_text(value: object) -> object:
    """Return a value that no spreadsheet takes for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULAS) else value


def as_json(report: Report) -> str:
    """Return the records, the captions and the notes. What is missing is null."""
    content = {
        "rows": [
            {name: None if _missing(value) else value for name, value in row.items()}
            for row in report.records
        ],
        "captions": [grid.caption for grid in report.grids if grid.caption],
        "notes": list(report.notes),
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def as_markdown(report: Report) -> str:
    """Return tables as GitHub draws them, also fit to be read as they are."""
    blocks = []
    for grid in report.grids:
        if grid.title:
            blocks.append(f"### {markdown_text(grid.title)}")
        blocks.append(_markdown_table(grid))
        if grid.caption:
            blocks.append(markdown_text(grid.caption))
    if report.notes:
        blocks.append("\n".join(f"- {markdown_text(note)}" for note in report.notes))
    return "\n\n".join(blocks) + "\n"


def as_latex(report: Report) -> str:
    """Return a table environment for each table, ruled with booktabs; notes are comments."""
    return _filled(
        "tables.tex",
        report,
        filters={"latex": latex_text},
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
    )


def as_html(report: Report) -> str:
    """Return one page that needs nothing else."""
    return _filled("page.html", report, autoescape=True)


def html_fragment(report: Report) -> str:
    """Return the tables and notes as HTML that stands within a page of somebody else's."""
    return _filled("grids.html", report, autoescape=True)


WRITERS: Mapping[str, Callable[[Report], str]] = {
    "table": as_text,
    "csv": as_csv,
    "markdown": as_markdown,
    "latex": as_latex,
    "json": as_json,
    "html": as_html,
}
"""The writer of each format. `table` is what the screen shows, without colours."""


def markdown_text(text: str) -> str:
    """Return text that Markdown shows as it is. An underscore inside a word is safe and stays."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*\[\]|#~$])", r"\\\1", text)
    return re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\_", text)


def latex_text(text: str) -> str:
    """Return text that LaTeX prints as it is."""
    return "".join(_LATEX.get(letter, letter) for letter in text)


_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "\N{EN DASH}": "--",
    # After a line break LaTeX reads these as arguments.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
}


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def _markdown_table(grid: Grid) -> str:
    heads = [markdown_text(column.title) for column in grid.columns]
    rows = [
        [f"**{markdown_text(c.text)}**" if c.strong else markdown_text(c.text) for c in row]
        for row in grid.rows
    ]
    widths = [max(3, *(len(row[i]) for row in [heads, *rows])) for i in range(len(heads))]
    rules = [
        "-" * (width - 1) + ":" if column.right else "-" * width
        for column, width in zip(grid.columns, widths, strict=True)
    ]
    lines = [_markdown_line(row, grid.columns, widths) for row in [heads, rules, *rows]]
    return "\n".join(lines)


def _markdown_line(row: Sequence[str], columns: Sequence[Head], widths: Sequence[int]) -> str:
    texts = [
        text.rjust(width) if column.right else text.ljust(width)
        for text, column, width in zip(row, columns, widths, strict=True)
    ]
    return f"| {' | '.join(texts)} |"


def _filled(
    name: str,
    report: Report,
    filters: Mapping[str, Callable[[str], str]] = MappingProxyType({}),
    **syntax: Any,
) -> str:
    """Return a template with the report put in."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        **syntax,
    )
    environment.filters.update(filters)
    return environment.get_template(name).render(report=report)
