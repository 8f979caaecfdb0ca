"""`attnexp status`: the progress of runs and sweeps in an output folder."""

import json
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from attnexp.cli.arguments import Arguments
from attnexp.core import console

if TYPE_CHECKING:
    from attnexp.select.overview import Progress, Row

EVERY = 5.0
"""Seconds between two updates with --watch."""

SHOWN = 20
"""The largest number of runs in a table."""

EPILOG = """examples:
  attnexp status                     the progress of all runs below outputs/
  attnexp status shared/outputs --watch
  attnexp status --format json       for programs
"""


def main(argv: Sequence[str]) -> None:
    """Show the progress of the runs in the folder that the arguments name.

    Raises RequestError for arguments that make no sense and a folder that is not there.
    """
    arguments = make_parser().parse_intermixed_args(argv)
    from attnexp.select.overview import progress_of
    from attnexp.select.selection import warn_skipped

    while True:
        progress = progress_of(arguments.folder)
        if arguments.watch and console.screen.out.is_terminal:
            console.screen.out.clear()
        warn_skipped(progress.skipped)
        for sentence in progress.of_other_versions:
            console.warn_aside(sentence)
        if arguments.format == "json":
            sys.stdout.write(json.dumps(vars(progress)) + "\n")
            sys.stdout.flush()
        elif progress.counts:
            show(progress)
        else:
            console.print_line(f"there are no runs below {arguments.folder}")
        if not arguments.watch or not (progress.running or progress.to_do):
            return
        time.sleep(EVERY)


def make_parser() -> Arguments:
    """Return the parser of the arguments."""
    parser = Arguments("status", "Show the progress of runs and sweeps, from any machine.", EPILOG)
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=Path("outputs"),
        metavar="FOLDER",
        help="the output folder (outputs)",
    )
    parser.add_argument(
        "--watch", action="store_true", help=f"update every {EVERY:.0f} seconds until all has ended"
    )
    parser.add_argument("--format", choices=("table", "json"), default="table")
    return parser


def show(progress: "Progress") -> None:
    """Print the counts, the running runs, and those to run again."""
    counts = progress.counts.items()
    _print([{"status": status, "runs": str(count)} for status, count in counts], right=["runs"])
    _print(progress.running)
    _print(progress.ended_early)
    if progress.seconds_left is not None:
        left = timedelta(seconds=round(progress.seconds_left))
        at_once = len(progress.running)
        pace = f"at {at_once} at a time" if at_once else "one at a time; nothing is running"
        console.print_line(f"about {left} left {pace}")


def _print(rows: "Sequence[Row]", right: Sequence[str] = ()) -> None:
    if not rows:
        return
    table = console.plain_table(list(rows[0]), right=right)
    for row in rows[:SHOWN]:
        table.add_row(*map(escape, row.values()))
    console.screen.out.print(table)
    if len(rows) > SHOWN:
        console.print_line(f"and {len(rows) - SHOWN} more")
