"""`attnexp status`: how far the runs and sweeps of an output folder are."""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from rich.markup import escape

from attnexp import console
from attnexp.cli.arguments import Arguments
from attnexp.cli.results import tell_skipped
from attnexp.runs.progress import Progress, look_at

EVERY = 5.0
"""Seconds between two looks with --watch."""

SHOWN = 20
"""The largest number of runs in a table."""

EPILOG = """examples:
  attnexp status                     how far all below outputs/ is
  attnexp status shared/outputs --watch
  attnexp status --format json       for programs
"""


def main(argv: Sequence[str]) -> None:
    """Show how far the runs are in the folder that the arguments name.

    Raises RequestError for arguments that make no sense and a folder that is not there.
    """
    arguments = parse(argv)
    while True:
        progress = look_at(arguments.folder)
        if arguments.watch and console.out.is_terminal:
            console.out.clear()
        tell_skipped(progress.skipped)
        if arguments.format == "json":
            sys.stdout.write(json.dumps(record_of(progress)) + "\n")
            sys.stdout.flush()
        else:
            show(progress)
        if not arguments.watch or not (progress.running or progress.to_do):
            return
        time.sleep(EVERY)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments."""
    parser = Arguments("status", "Show how far runs and sweeps are, from any machine.", EPILOG)
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=Path("outputs"),
        metavar="FOLDER",
        help="the output folder (outputs)",
    )
    parser.add_argument(
        "--watch", action="store_true", help=f"look every {EVERY:.0f} seconds until all has ended"
    )
    parser.add_argument("--format", choices=("table", "json"), default="table")
    return parser.parse_intermixed_args(argv)


def show(progress: Progress) -> None:
    """Print the counts, the running runs, and those that need a look."""
    table = console.plain_table(["status", "runs"], right=["runs"])
    for state, count in progress.counts.items():
        table.add_row(state, str(count))
    console.out.print(table)
    if progress.running:
        table = console.plain_table(["running", "where", "since", "how far"])
        for run in progress.running[:SHOWN]:
            cells = (run.name, run.where, run.since, run.how_far)
            table.add_row(*(escape(cell) for cell in cells))
        console.out.print(table)
        _more(progress.running)
    if progress.ended_early:
        table = console.plain_table(["to look at", "state", "why"])
        for ended in progress.ended_early[:SHOWN]:
            table.add_row(*(escape(cell) for cell in (ended.name, ended.state, ended.why)))
        console.out.print(table)
        _more(progress.ended_early)
    if progress.rest is not None:
        rest = timedelta(seconds=round(progress.rest))
        at_once = len(progress.running)
        pace = f"at {at_once} at a time" if at_once else "one at a time; nothing is running"
        console.say(f"about {rest} left {pace}")


def record_of(progress: Progress) -> dict[str, Any]:
    """Return the same for programs."""
    return {
        "counts": progress.counts,
        "running": [vars(run) for run in progress.running],
        "ended_early": [vars(run) for run in progress.ended_early],
        "to_do": list(progress.to_do),
        "seconds_left": progress.rest,
    }


def _more(runs: Sequence[object]) -> None:
    if len(runs) > SHOWN:
        console.say(f"and {len(runs) - SHOWN} more")
