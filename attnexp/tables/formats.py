"""Writes a report in the requested format: on the screen, to standard output or to a file."""

import csv
import io
import json
import math
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rich.cells import cell_len

from attnexp.core import console
from attnexp.core.console import aligned
from attnexp.core.errors import RequestError, choices_text
from attnexp.core.language import LANGUAGES, Phrase, translate, usual_language
from attnexp.runs.files import write_output
from attnexp.tables.grid import Grid, Report, column_names, with_columns
from attnexp.tables.latex import as_latex, filled
from attnexp.tables.paper import Paper
from attnexp.tables.screen import as_text, show

ENDINGS = {
    ".txt": "table",
    ".csv": "csv",
    ".md": "markdown",
    ".tex": "latex",
    ".json": "json",
}

FORMATS = tuple(ENDINGS.values())


def chosen_format(form: str | None, output: Path | None) -> str:
    """Return the requested format, or else the format of the file name's ending."""
    if form is not None or output is None:
        return form or "table"
    if output.suffix not in ENDINGS:
        raise RequestError(
            f"--output: {output} ends with none of {', '.join(ENDINGS)}: "
            f"add --format {choices_text(FORMATS)}"
        )
    return ENDINGS[output.suffix]


@dataclass(frozen=True)
class Output:
    """The format of a report, and the file, by default the screen or standard output.

    `columns` are the columns of tables, by default all.
    """

    form: str
    path: Path | None = None
    columns: Sequence[str] = ()
    paper: Paper = field(default_factory=Paper)

    def language(self, asked: str | None) -> str:
        """Return the language of the text: English for programs, else as asked or by the locale."""
        is_read = self.form not in ("csv", "json")
        return asked or usual_language(os.environ) if is_read else LANGUAGES[0]

    @property
    def on_screen(self) -> bool:
        """Whether the report is shown on the screen."""
        return self.form == "table" and self.path is None


def emit(report: Report, output: Output) -> None:
    """Print a report or write it to a file. Raises RequestError for a column it lacks."""
    if output.columns:
        report = _with_columns(report, output.columns)
    if output.on_screen:
        show(report)
        return
    writer = WRITERS[output.form]
    text = as_latex(report, output.paper) if output.form == "latex" else writer(report)
    if output.path is None:
        sys.stdout.write(text)
        return
    write_output("--output", output.path, text.encode())
    console.print_line(f"{console.count_text(len(report.records), 'row')} in {output.path}")


def _with_columns(report: Report, names: Sequence[str]) -> Report:
    """Return a report with the named columns, without columns that are empty in all rows."""
    there = column_names(report)
    title = report.renaming.title
    words = report.words.union(map(title, report.words))
    empty = [name for name in names if name in words and not {name, title(name)} & there.keys()]
    if empty:
        console.warn_aside(f"--columns: no row has a value of {', '.join(empty)}")
    return with_columns(report, [name for name in names if name not in empty])


FORMULAS = ("=", "+", "-", "@", "\t", "\r")
"""The first characters of text that spreadsheets take for a formula."""


def as_csv(report: Report) -> str:
    """Return the records, a line each, under their names. Missing values are empty.

    Text that looks like a formula gets a leading apostrophe.
    """
    text = io.StringIO()
    if report.records:
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(map(csv_text, report.records[0]))
        for row in report.records:
            writer.writerow("" if _missing(value) else csv_text(value) for value in row.values())
    return text.getvalue()


def csv_text(value: object) -> object:
    """Return a value, with a leading apostrophe if a spreadsheet would take it for a formula."""
    is_formula = isinstance(value, str) and value.startswith(FORMULAS) and value != "-"
    return f"'{value}" if is_formula else value


def as_json(report: Report) -> str:
    """Return the records, the captions and the notes. Missing values are null."""
    content: dict[str, object] = {
        "rows": [
            {name: None if _missing(value) else value for name, value in row.items()}
            for row in report.records
        ],
        "captions": [translate(grid.full_caption) for grid in report.grids if grid.full_caption],
        "verdicts": [*map(translate, report.verdicts)],
        "notes": [*map(translate, (*report.notes, *report.further))],
    }
    if report.required:
        content["required"] = [asdict(answer) for answer in report.required]
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def as_markdown(report: Report) -> str:
    """Return the tables and notes in GitHub's Markdown, aligned to be readable as text."""
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
"""The writer of each format."""


def markdown_text(text: Phrase) -> str:
    """Return text escaped for Markdown; underscores inside words need no escape."""
    text = translate(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
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
