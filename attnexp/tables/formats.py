"""Writes a report as text, one function per format, with the special characters escaped."""

import csv
import io
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence

from rich.cells import cell_len

from attnexp.core.console import aligned
from attnexp.tables.filled import filled
from attnexp.tables.grid import Grid, Report
from attnexp.tables.latex import as_latex
from attnexp.tables.screen import as_text

FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""How text begins that a spreadsheet computes."""


def as_csv(report: Report) -> str:
    """Return the records, a line each, under their names. Missing values are empty.

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
    """Return the records, the captions and the notes. Missing values are null."""
    content = {
        "rows": [
            {name: None if _missing(value) else value for name, value in row.items()}
            for row in report.records
        ],
        "captions": [grid.full_caption for grid in report.grids if grid.full_caption],
        "verdicts": list(report.verdicts),
        "notes": [*report.notes, *report.further],
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


def as_html(report: Report) -> str:
    """Return the tables and notes as HTML to be inserted into a page."""
    return filled("grids.html", {"report": report}, autoescape=True)


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


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def _markdown_table(grid: Grid) -> str:
    heads = [markdown_text(column.title) for column in grid.columns]
    rows = [
        [f"**{markdown_text(c.text)}**" if c.strong else markdown_text(c.text) for c in row]
        for row in grid.rows
    ]
    widths = [max(3, *(cell_len(row[i]) for row in [heads, *rows])) for i in range(len(heads))]
    rules = [
        "-" * (width - 1) + ":" if column.right else "-" * width
        for column, width in zip(grid.columns, widths, strict=True)
    ]

    def line(row: Sequence[str]) -> str:
        cells = zip(row, grid.columns, widths, strict=True)
        texts = (aligned(text, "right" if c.right else "left", w) for text, c, w in cells)
        return f"| {' | '.join(texts)} |"

    return "\n".join(map(line, [heads, rules, *rows]))
