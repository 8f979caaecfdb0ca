"""`attnexp claims`: published claims, run again, with verdicts."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attnexp.claims.claim_file import names
from attnexp.cli.arguments import Arguments, count
from attnexp.cli.candidates import claims
from attnexp.cli.drawing import add_look, asked_look, require_drawing
from attnexp.cli.main import FAILURE, REQUEST, report
from attnexp.config.trust import search_user_modules
from attnexp.core import console
from attnexp.core.errors import CommandEnded, RequestError, RunFailedError
from attnexp.runs.files import require_output, write_output

if TYPE_CHECKING:
    from attnexp.claims.record import Entry

EPILOG = """examples:
  attnexp claims                          all claims, with verdicts on the runs that are there
  attnexp claims nw_rate                  run what is missing, and print the record
  attnexp claims nw_rate --seeds 20       with more seeds than the claim asks for
  attnexp claims --all --output page.md   all of them, and a page with their records
`attnexp docs claims` has the verdicts, and says how to write a claim of your own.
"""


def main(argv: Sequence[str]) -> None:
    """List the claims, or run and judge those that the arguments name.

    An error in one claim is its own verdict, and the others are listed. Raises RequestError for an
    unknown claim, and for a named one that cannot be run, CommandEnded with the exit code of a
    sweep that fails and has said why, and RunFailedError if a claim could not be judged.
    """
    arguments = make_parser().parse_intermixed_args(argv)
    from attnexp.claims.carry_out import figures_folder
    from attnexp.claims.record import list_claims, markdown, plain, show_record

    if arguments.config_dir is not None:
        search_user_modules(arguments.config_dir)
    known = names(arguments.config_dir)
    if arguments.name is not None and arguments.all:
        raise RequestError(f"name a claim or --all, and not both: {arguments.name} and --all")
    chosen = known if arguments.all else [arguments.name] if arguments.name else []
    if arguments.dry_run and not chosen:
        raise RequestError("--dry-run takes the name of a claim, or --all")
    is_read = arguments.format == "json"  # by a program, which takes nothing else
    if arguments.dry_run and is_read:
        raise RequestError("--dry-run prints no verdicts: leave out --format json")
    drawing = bool(chosen) and not arguments.dry_run
    require_drawing(arguments, drawing, "name a claim, without --dry-run")
    if arguments.output is not None and not arguments.dry_run:
        require_output("--output", arguments.output)
    with console.screen.aside(is_read):
        entries = [_entry(name, arguments, name in chosen) for name in chosen or known]
    if arguments.dry_run:
        return
    if arguments.output is not None:
        page = arguments.output.resolve().parent
        pictures = {
            entry.name: [
                Path(os.path.relpath(path.resolve(), page)).as_posix()
                for path in sorted(figures_folder(entry.name).glob("*.png"))
            ]
            for entry in entries
        }
        write_output("--output", arguments.output, markdown(entries, pictures).encode())
        if not is_read:
            console.print_line(f"wrote {arguments.output}")
    if is_read:
        sys.stdout.write(json.dumps([plain(entry) for entry in entries]) + "\n")
    elif len(chosen) == 1:
        show_record(entries[0])
    else:
        list_claims(entries, arguments.config_dir)
    if failed := [entry.name for entry in entries if entry.verdict.word == "failed"]:
        sentence = f"{', '.join(failed)} could not be judged"
        if chosen:
            raise RunFailedError(f"{sentence}: the record says why")
        warn = console.warn_aside if is_read else console.warn
        warn(f"{sentence}: attnexp claims NAME says why")


def _entry(name: str, arguments: argparse.Namespace, chosen: bool) -> "Entry":
    """Return a claim with its verdict, after running its missing parts if it was chosen.

    Raises RequestError and CommandEnded for the only claim that was chosen; of several, each has
    its own verdict.
    """
    from attnexp.claims.carry_out import StepFailedError, draw_claim, plan_claim, run_claim
    from attnexp.claims.claim import read_claim
    from attnexp.claims.decision import Verdict
    from attnexp.claims.record import Entry, judged

    claim = None
    try:
        claim = read_claim(name, arguments.config_dir)
        if chosen:
            claim.decision()  # refused before anything is run
            first = claim.first_seed
            seeds = range(first, first + (arguments.seeds or claim.seeds))
            work = plan_claim if arguments.dry_run else run_claim
            work(name, claim, seeds, arguments.config_dir)
            if not arguments.dry_run:
                draw_claim(name, claim, arguments.config_dir, asked_look(arguments))
        return judged(name, claim, arguments.config_dir, chosen)
    except RequestError as error:
        if arguments.name is not None:
            raise
        return Entry(name, claim, Verdict("failed", str(error)))
    except StepFailedError as failed:
        code = report(failed.error)
        console.warn_aside("the claim stops here; the same command goes on from there")
        if arguments.name is not None or code not in (REQUEST, FAILURE):
            raise CommandEnded(code) from failed
        return Entry(name, claim, Verdict("failed", "a command of it failed, and has said why"))


def make_parser() -> Arguments:
    """Return the parser of the arguments."""
    parser = Arguments("claims", "Run published claims again, and judge them.", EPILOG)
    parser.add_argument(
        "name",
        nargs="?",
        completes=claims,
        metavar="NAME",
        help="without one: list the claims",
    )
    parser.add_argument("--all", action="store_true", help="run and judge all of them")
    parser.add_argument(
        "--seeds", type=count, metavar="N", help="how many seeds; default: as the claim says"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would run, and run nothing"
    )
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument(
        "--config-dir", type=Path, metavar="DIR", help="a folder with claims of your own in claim/"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write the records there, as Markdown"
    )
    add_look(parser)
    return parser
