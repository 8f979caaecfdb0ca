"""A report as text: one function a format, each escaping what its language would misread."""

import csv
import html
import io
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence

from attnexp.tables.table import Cell, Grid, Head, Report
from attnexp.tables.terminal import as_text


def as_csv(report: Report) -> str:
    """The records, a line each, under their names. What is missing is empty."""
    text = io.StringIO()
    if report.records:
        writer = csv.DictWriter(text, list(report.records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {name: "" if _missing(value) else value for name, value in row.items()}
            for row in report.records
        )
    return text.getvalue()


def as_json(report: Report) -> str:
    """The records, what the tables have in common, and the notes. What is missing is null."""
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
    """Tables as GitHub draws them, also fit to be read as they are."""
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
    """A table environment a grid, ruled with booktabs; the notes are comments at the end."""
    blocks = ["% needs \\usepackage{booktabs}"]
    blocks += [_latex_table(grid) for grid in report.grids]
    blocks += [f"% {note}" for note in report.notes]
    return "\n".join(blocks) + "\n"


def as_html(report: Report) -> str:
    """One page that needs nothing else."""
    body = "\n".join(_html_table(grid) for grid in report.grids)
    notes = "".join(f"<li>{html.escape(note)}</li>\n" for note in report.notes)
    listed = f"<ul>\n{notes}</ul>\n" if notes else ""
    return _PAGE.format(body=body, notes=listed)


WRITERS: Mapping[str, Callable[[Report], str]] = {
    "table": as_text,
    "csv": as_csv,
    "markdown": as_markdown,
    "latex": as_latex,
    "json": as_json,
    "html": as_html,
}
"""Each format's writer. `table` is what the screen shows, without colours."""


def markdown_text(text: str) -> str:
    """Text that Markdown shows as it is. An underscore inside a word is safe and stays."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*\[\]|#~$])", r"\\\1", text)
    return re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\_", text)


def latex_text(text: str) -> str:
    """Text that LaTeX prints as it is."""
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

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>attnexp results</title>
<style>
body {{ font-family: system-ui, sans-serif; margin: 1.5rem; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; margin: 0.5rem 0; }}
th, td {{ padding: 0.2rem 0.8rem; text-align: left; white-space: nowrap; }}
th {{ border-bottom: 1px solid; }}
.right {{ text-align: right; font-variant-numeric: tabular-nums; }}
.caption {{ color: #555; }}
</style>
</head>
<body>
{body}
{notes}</body>
</html>
"""


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


def _latex_table(grid: Grid) -> str:
    alignment = "".join("r" if column.right else "l" for column in grid.columns)
    caption = ". ".join(filter(None, (grid.title, grid.caption)))
    lines = [
        r"\begin{table}",
        r"  \centering",
        *([rf"  \caption{{{latex_text(caption)}}}"] if caption else []),
        rf"  \begin{{tabular}}{{{alignment}}}",
        r"    \toprule",
        f"    {_latex_row([Cell(column.title) for column in grid.columns])}",
        r"    \midrule",
        *(f"    {_latex_row(row)}" for row in grid.rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _latex_row(row: Sequence[Cell]) -> str:
    texts = (rf"\textbf{{{latex_text(c.text)}}}" if c.strong else latex_text(c.text) for c in row)
    return " & ".join(texts) + r" \\"


def _html_table(grid: Grid) -> str:
    title = f"<h2>{html.escape(grid.title)}</h2>\n" if grid.title else ""
    caption = f'<p class="caption">{html.escape(grid.caption)}</p>\n' if grid.caption else ""
    heads = "".join(_html_cell("th", Cell(column.title), column) for column in grid.columns)
    rows = "".join(
        "<tr>"
        + "".join(
            _html_cell("td", entry, column) for entry, column in zip(row, grid.columns, strict=True)
        )
        + "</tr>\n"
        for row in grid.rows
    )
    return (
        f'{title}<div class="scroll">\n<table>\n<thead><tr>{heads}</tr></thead>\n'
        f"<tbody>\n{rows}</tbody>\n</table>\n</div>\n{caption}"
    )


def _html_cell(tag: str, entry: Cell, column: Head) -> str:
    side = ' class="right"' if column.right else ""
    text = html.escape(entry.text)
    return f"<{tag}{side}>{f'<strong>{text}</strong>' if entry.strong else text}</{tag}>"
