"""Writes a report as text, one function per format, with the special characters escaped."""

import csv
import io
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attnexp.tables.grid import Grid, Report
from attnexp.tables.screen import as_text

FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""How text begins that a spreadsheet computes."""

TEMPLATES = Path(__file__).parent / "templates"
"""The templates of the HTML and of the LaTeX tables."""


def as_csv(report: Report) -> str:
    """Return the records, a line each, under their names. What is missing is empty.

    Text that a spreadsheet would compute has an apostrophe in front, which makes it text there.
    """
    text = io.StringIO()
    if report.records:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(map(csv_text, report.records[0]))
        for row in report.records:
            writer.writerow("" if _missing(value) else csv_text(value) for value in row.values())
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
        "captions": [grid.full_caption for grid in report.grids if grid.full_caption],
        "verdicts": list(report.verdicts),
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
        if grid.full_caption:
            blocks.append(markdown_text(grid.full_caption))
    blocks += [markdown_text(verdict) for verdict in report.verdicts]
    if report.notes:
        blocks.append("\n".join(f"- {markdown_text(note)}" for note in report.notes))
    return "\n\n".join(blocks) + "\n"


def as_latex(report: Report) -> str:
    """Return a table environment for each table, ruled with booktabs; notes are comments."""
    return _filled(
        "tables.tex",
        report,
        block_start_string="<%",
        block_end_string="%>",
        variable_start_string="<<",
        variable_end_string=">>",
    )


def as_html(report: Report) -> str:
    """Return the tables and notes as HTML to be inserted into a page."""
    return _filled("grids.html", report, autoescape=True)


WRITERS: Mapping[str, Callable[[Report], str]] = {
    "table": as_text,
    "csv": as_csv,
    "markdown": as_markdown,
    "latex": as_latex,
    "json": as_json,
}
"""The writer of each format. `table` is the text on the screen, without colours."""


def markdown_text(text: str) -> str:
    """Return text that Markdown shows as it is. An underscore inside a word is safe and stays."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*\[\]|#~$])", r"\\\1", text)
    return re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\_", text)


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

    def line(row: Sequence[str]) -> str:
        cells = zip(row, grid.columns, widths, strict=True)
        texts = (text.rjust(w) if column.right else text.ljust(w) for text, column, w in cells)
        return f"| {' | '.join(texts)} |"

    return "\n".join(map(line, [heads, rules, *rows]))


def _filled(name: str, report: Report, **syntax: Any) -> str:
    """Return a template filled with the report."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        **syntax,
    )
    environment.filters["latex"] = latex_text
    return environment.get_template(name).render(report=report)
