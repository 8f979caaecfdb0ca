"""Where a report goes: the screen, standard output, or a file, in the format that is asked for."""

import sys
from pathlib import Path

from attnexp.core import console
from attnexp.core.errors import RequestError, choices_text
from attnexp.runs.files import write_output
from attnexp.tables.grid import Report

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


def emit(report: Report, form: str, output: Path | None, limit: int) -> None:
    """Print a report or write it to a file."""
    if form == "table" and output is None:
        from attnexp.tables.screen import show

        show(report, limit)
        return
    from attnexp.tables.formats import WRITERS

    text = WRITERS[form](report)
    if output is None:
        sys.stdout.write(text)
        return
    write_output("--output", output, text.encode())
    console.say(f"{len(report.records)} rows in {output}")
