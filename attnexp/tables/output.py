"""Where a report goes: the screen, standard output, or a file, in the format that is asked for."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from attnexp.core import console
from attnexp.core.errors import RequestError, choices_text
from attnexp.runs.files import write_output
from attnexp.tables.grid import Report, column_names, count_text, with_columns
from attnexp.tables.paper import Paper

ENDINGS = {
    ".txt": "table",
    ".csv": "csv",
    ".md": "markdown",
    ".tex": "latex",
    ".json": "json",
}
"""The format that is requested by the ending of a file name."""

FORMATS = tuple(ENDINGS.values())


def chosen_format(form: str | None, output: Path | None) -> str:
    """Return the format that was asked for, or the one that the file name ends with."""
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
    """How a report is written, and where: to a file, or else to the screen or standard output.

    `columns` are the columns of its tables, by default all.
    """

    form: str
    path: Path | None = None
    columns: Sequence[str] = ()
    paper: Paper = field(default_factory=Paper)

    @property
    def on_screen(self) -> bool:
        """Whether the report is shown on the screen."""
        return self.form == "table" and self.path is None


def emit(report: Report, output: Output) -> None:
    """Print a report or write it to a file. Raises RequestError for a column that it lacks."""
    if output.columns:
        report = _with_columns(report, output.columns)
    if output.on_screen:
        from attnexp.tables.screen import show

        show(report)
        return
    text = _text(report, output)
    if output.path is None:
        sys.stdout.write(text)
        return
    write_output("--output", output.path, text.encode())
    console.say(f"{count_text(len(report.records), 'row')} in {output.path}")


def _with_columns(report: Report, names: Sequence[str]) -> Report:
    """Return a report with the named columns, but for those that no row has a value in."""
    from attnexp.tables.columns import WORDS

    there = column_names(report)
    empty = [name for name in names if name in WORDS and name not in there]
    if empty:
        console.warn_aside(f"--columns: no row has a value of {', '.join(empty)}")
    return with_columns(report, [name for name in names if name not in empty])


def _text(report: Report, output: Output) -> str:
    if output.form == "latex":
        from attnexp.tables.latex import as_latex

        return as_latex(report, output.paper)
    from attnexp.tables.formats import WRITERS

    return WRITERS[output.form](report)
