"""`attnexp status`: the progress of runs and sweeps in an output folder."""

import json
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.markup import escape

from attnexp.cli.arguments import DataFormat
from attnexp.cli.parser import Argument
from attnexp.core import console

if TYPE_CHECKING:
    from attnexp.select.overview import Progress, Row

EVERY = 5.0
"""With --watch, seconds between two updates."""

SHOWN = 20
"""The most rows of a table."""

EPILOG = """examples:
  attnexp status                     the progress of all runs below outputs/
  attnexp status shared/outputs --watch
  attnexp status --format json       for programs
"""


def main(
    folder: Path | None = None,
    *,
    watch: Annotated[
        bool, Argument(f"update every {EVERY:.0f} seconds until all has ended")
    ] = False,
    format: DataFormat = "table",
) -> None:
    """Show the progress of runs and sweeps, from any machine.

    Raises RequestError for a folder that is not there.

    Args:
        folder (FOLDER): the output folder (outputs)
    """
    from attnexp.select.collect import OUTPUTS
    from attnexp.select.overview import progress_of
    from attnexp.select.selection import warn_skipped

    while True:
        progress = progress_of(folder)
        if watch and console.screen.out.is_terminal:
            console.screen.out.clear()
        warn_skipped(progress.skipped)
        for sentence in (*progress.of_other_versions, *progress.of_studies):
            console.warn_aside(sentence)
        if format == "json":
            sys.stdout.write(json.dumps(vars(progress)) + "\n")
            sys.stdout.flush()
        elif progress.counts:
            show(progress)
        else:
            console.print_line(f"there are no runs below {folder or OUTPUTS}")
        if not watch or not (progress.running or progress.to_do):
            return
        time.sleep(EVERY)


def show(progress: "Progress") -> None:
    """Print how many runs have each status, the running runs, and the runs to run again."""
    counts = progress.counts.items()
    _print([{"status": status, "runs": str(count)} for status, count in counts], right=["runs"])
    _print(progress.running)
    _print(_by_error(progress.ended_early))
    if progress.seconds_left is not None:
        left = timedelta(seconds=round(progress.seconds_left))
        at_once = len(progress.running)
        pace = f"at {at_once} at a time" if at_once else "one at a time; nothing is running"
        console.print_line(f"about {left} left {pace}")


def _by_error(rows: "Sequence[Row]") -> "list[Row]":
    """Return a row for all runs to run again with the same status and the same error."""
    alike: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        alike.setdefault((row["status"], row["error"]), []).append(row)
    name = "to run again"
    return [
        {**own[0], name: console.with_more(own[0][name], len(own) - 1)} for own in alike.values()
    ]


def _print(rows: "Sequence[Row]", right: Sequence[str] = ()) -> None:
    if not rows:
        return
    table = console.plain_table(list(rows[0]), right=right)
    for row in rows[:SHOWN]:
        table.add_row(*map(escape, row.values()))
    console.screen.out.print(table)
    if len(rows) > SHOWN:
        console.print_line(f"and {len(rows) - SHOWN} more")
