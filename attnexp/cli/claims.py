"""`attnexp claims`: published claims, run again, with verdicts."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from attnexp.claims.claim_file import names
from attnexp.cli import arguments
from attnexp.cli.candidates import claims
from attnexp.cli.drawing import StyleOptions
from attnexp.cli.main import FAILURE, REQUEST, report
from attnexp.cli.parser import Argument
from attnexp.config.trust import search_user_modules
from attnexp.core import console
from attnexp.core.errors import CommandEnded, RequestError, RunFailedError
from attnexp.runs.files import require_output, write_output
from attnexp.tables.grid import EXIT_CODES, TableOutcome

if TYPE_CHECKING:
    from attnexp.claims.record import Entry

REQUIRED = ("reproduced", "not reproduced", "both solve it")
"""The verdicts that --require may name."""

RECORDS = arguments.written_as("the records are Markdown", ".md", ".markdown")

EPILOG = """examples:
  attnexp claims                          all claims, and verdicts on their runs
  attnexp claims nw_rate                  run it, and print the record
  attnexp claims nw_rate --seeds 20       with more seeds
  attnexp claims --all --output page.md   a page with all records
`attnexp docs claims` has the verdicts, and how to write a claim of your own.
"""


@dataclass(frozen=True, kw_only=True)
class ClaimOptions:
    """How many seeds a claim has, whether it is only planned, and where claims of your own are.

    Args:
        seeds: how many seeds; default: as the claim says
        dry_run: say what would run, and run nothing
        config_dir (DIR): a folder with claims of your own in claim/
    """

    seeds: arguments.Count | None = None
    dry_run: bool = False
    config_dir: Path | None = None


def main(
    name: Annotated[str | None, Argument(completes=claims)] = None,
    *,
    every: Annotated[bool, Argument(option="--all")] = False,
    options: ClaimOptions,
    format: arguments.DataFormat = "table",
    output: Annotated[Path | None, RECORDS] = None,
    require: Annotated[str | None, Argument(choices=REQUIRED, metavar="VERDICT")] = None,
    style: StyleOptions,
) -> None:
    """Run published claims again, and judge them.

    Without a name, the claims are listed. An error in one claim is its own verdict, and the others
    are listed. Raises RequestError for an unknown claim, and for a named one that cannot be run,
    CommandEnded with the exit code of a sweep that fails and has said why or that of another
    verdict than is required, and RunFailedError if a claim could not be judged.

    Args:
        name: without one: list the claims
        every: run and judge all of them
        output: write the records there, as Markdown
        require: exit with 3 if a claim cannot tell, and with 4 at another verdict than this one
    """
    from attnexp.claims.record import list_claims, plain, show_record

    if options.config_dir is not None:
        search_user_modules(options.config_dir)
    known = names(options.config_dir)
    if name is not None and every:
        raise RequestError(f"name a claim or --all, and not both: {name} and --all")
    chosen = known if every else [name] if name else []
    dry_run = options.dry_run
    if dry_run and not chosen:
        raise RequestError("--dry-run takes the name of a claim, or --all")
    is_read = format == "json"  # by a program, which takes nothing else
    if dry_run and require is not None:
        raise RequestError("--dry-run gives no verdict: leave out --require")
    if dry_run and is_read:
        raise RequestError("--dry-run prints no verdicts: leave out --format json")
    style.require_drawing(bool(chosen) and not dry_run, "name a claim, without --dry-run")
    if output is not None and not dry_run:
        require_output("--output", output)
    with console.screen.aside(is_read):
        drawn_in = style if chosen else None
        entries = [_entry(each, options, drawn_in, name is not None) for each in chosen or known]
    if dry_run:
        return
    if output is not None:
        _write(entries, output)
        if not is_read:
            console.print_line(f"wrote {output}")
    if is_read:
        sys.stdout.write(json.dumps([plain(entry) for entry in entries]) + "\n")
    elif len(chosen) == 1:
        show_record(entries[0])
    else:
        list_claims(entries, options.config_dir)
    _end(entries, require, bool(chosen), console.warn_aside if is_read else console.warn)


def _end(
    entries: "Sequence[Entry]", required: str | None, by_name: bool, warn: Callable[[str], None]
) -> None:
    """Raise an error for claims that could not be judged, or that lack the required verdict.

    Raises RunFailedError for claims that could not be judged, if claims were named; otherwise a
    warning says so. Raises CommandEnded with 3 if a claim cannot tell, and with 4 at another
    verdict.
    """
    if failed := [entry.name for entry in entries if entry.verdict.word == "failed"]:
        sentence = f"{', '.join(failed)} could not be judged"
        if by_name:
            raise RunFailedError(f"{sentence}: the record says why")
        warn(f"{sentence}: attnexp claims NAME says why")
    words = {entry.verdict.word for entry in entries} - {required, "failed"}
    if required is not None and words:
        known = words & {*REQUIRED}
        raise CommandEnded(EXIT_CODES[TableOutcome.FALSE if known else TableOutcome.NOT_SHOWN])


def _write(entries: "Sequence[Entry]", output: Path) -> None:
    """Write the records, with links to their pictures, into a Markdown file."""
    from attnexp.claims.carry_out import figures_folder
    from attnexp.claims.record import markdown

    page = output.resolve().parent
    pictures = {
        entry.name: [
            Path(os.path.relpath(path.resolve(), page)).as_posix()
            for path in sorted(figures_folder(entry.name).glob("*.png"))
        ]
        for entry in entries
    }
    write_output("--output", output, markdown(entries, pictures).encode())


def _entry(name: str, options: ClaimOptions, style: StyleOptions | None, is_alone: bool) -> "Entry":
    """Return a claim with its verdict. With a `style`, run its missing parts and draw it first.

    Raises RequestError and CommandEnded if the claim cannot be run and is the only one that was
    asked for. One of several has the verdict that it failed.
    """
    from attnexp.claims.carry_out import StepFailedError, draw_claim, plan_claim, run_claim
    from attnexp.claims.claim import read_claim
    from attnexp.claims.decision import Verdict
    from attnexp.claims.record import Entry, judged

    claim = None
    try:
        claim = read_claim(name, options.config_dir)
        if style is not None:
            claim.decision()  # refused before anything is run
            first = claim.first_seed
            seeds = range(first, first + (options.seeds or claim.seeds))
            work = plan_claim if options.dry_run else run_claim
            work(name, claim, seeds, options.config_dir)
            if not options.dry_run:
                draw_claim(name, claim, options.config_dir, style.asked())
        return judged(name, claim, options.config_dir, style is not None)
    except RequestError as error:
        if is_alone:
            raise
        return Entry(name, claim, Verdict("failed", str(error)))
    except StepFailedError as failed:
        code = report(failed.error)
        console.warn_aside("the claim stops here; the same command goes on from there")
        if is_alone or code not in (REQUEST, FAILURE):
            raise CommandEnded(code) from failed
        return Entry(name, claim, Verdict("failed", "a command of it failed, and has said why"))
