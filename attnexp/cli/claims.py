"""`attnexp claims`: published claims, run again, with verdicts."""

import argparse
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.markup import escape

from attnexp import console
from attnexp.claims.card import Entry, card, judged, left_out_text, markdown
from attnexp.claims.claim import FOLDER, Claim, names, question, read_claim
from attnexp.claims.decision import Verdict
from attnexp.claims.gather import evidence_of, finished_runs, first_words, sweep_words
from attnexp.claims.stored import (
    COMPUTED,
    origin_of,
    read_points,
    record_prediction,
    write_points,
)
from attnexp.cli.arguments import Arguments, count
from attnexp.cli.main import FAILURE, REQUEST
from attnexp.config.trust import search_user_modules
from attnexp.errors import RequestError, RunFailedError, shortened, writable
from attnexp.runs.files import write_output

if TYPE_CHECKING:
    from attnexp.runs.folder import Run

EPILOG = """examples:
  attnexp claims                          all claims, with verdicts on the runs that are there
  attnexp claims nw_rate                  run what is missing, and print the card
  attnexp claims nw_rate --seeds 20       with more seeds than the claim asks for
  attnexp claims --all --output page.md   all of them, and a page with their cards
docs/claims.md has the verdicts, and says how to write a claim of your own.
"""


def main(argv: Sequence[str]) -> None:
    """List the claims, or run and judge those that the arguments name.

    An error in one claim is its own verdict, and the others are listed. Raises RequestError for an
    unknown claim, and for a named one that cannot be run, SystemExit with the exit code of a sweep
    that fails and has said why, and RunFailedError if a claim could not be judged.
    """
    arguments = parse(argv)
    if arguments.config_dir is not None:
        search_user_modules(arguments.config_dir)
    known = names(arguments.config_dir)
    if arguments.name is not None and arguments.all:
        raise RequestError(f"name a claim or --all, and not both: {arguments.name} and --all")
    chosen = known if arguments.all else [arguments.name] if arguments.name else []
    if arguments.dry_run and not chosen:
        raise RequestError("--dry-run takes the name of a claim, or --all")
    entries = [_entry(name, arguments, name in chosen) for name in chosen or known]
    if arguments.dry_run:
        return
    if arguments.output is not None:
        page = arguments.output.resolve().parent
        pictures = {
            entry.name: [
                Path(os.path.relpath(path.resolve(), page)).as_posix()
                for path in sorted(_figures(entry.name).glob("*.png"))
            ]
            for entry in entries
        }
        write_output("--output", arguments.output, markdown(entries, pictures).encode())
        console.say(f"wrote {arguments.output}")
    if len(chosen) == 1:
        _show(entries[0])
    else:
        _list(entries, arguments.config_dir)
    if failed := [entry.name for entry in entries if entry.verdict.word == "failed"]:
        sentence = f"{', '.join(failed)} could not be judged"
        if chosen:
            raise RunFailedError(f"{sentence}: the card says why")
        console.warn(f"{sentence}: attnexp claims NAME says why")


def _entry(name: str, arguments: argparse.Namespace, chosen: bool) -> Entry:
    """Return a claim with its verdict, after running what is missing of it if it was chosen.

    Raises RequestError and SystemExit for the only claim that was chosen; of several, each has its
    own verdict.
    """
    claim = None
    try:
        claim = read_claim(name, arguments.config_dir)
        if chosen:
            claim.decision()  # refused before anything is run
            first = claim.first_seed
            seeds = range(first, first + (arguments.seeds or claim.seeds))
            work = _plan if arguments.dry_run else _run
            work(name, claim, seeds, arguments.config_dir)
        return judged(name, claim, arguments.config_dir, chosen)
    except RequestError as error:
        if arguments.name is not None:
            raise
        return Entry(name, claim, Verdict("failed", str(error)))
    except SystemExit as error:
        if arguments.name is not None or error.code not in (REQUEST, FAILURE):
            raise
        return Entry(name, claim, Verdict("failed", "a command of it failed, and has said why"))


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the arguments."""
    parser = Arguments("claims", "Run published claims again, and judge them.", EPILOG)
    parser.add_argument("name", nargs="?", metavar="NAME", help="without one: list the claims")
    parser.add_argument("--all", action="store_true", help="run and judge all of them")
    parser.add_argument(
        "--seeds", type=count, metavar="N", help="how many seeds; default: as the claim says"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would run, and run nothing"
    )
    parser.add_argument(
        "--config-dir", type=Path, metavar="DIR", help="a folder with claims of your own in claim/"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write the cards there, as Markdown"
    )
    return parser.parse_intermixed_args(argv)


def _figures(name: str) -> Path:
    """Return the folder of a claim's pictures, in which `attnexp plot` draws, too."""
    return FOLDER / name / "figures"


def _run(name: str, claim: Claim, seeds: range, config_dir: Path | None) -> None:
    """Run the missing parts of a claim: points, sweeps, interventions and pictures.

    The first job of each sweep runs alone, and decides whether the claim can be judged at all.
    """
    console.say(f"{name}: this takes about {claim.minutes:g} minutes of one core from nothing.")
    folder = FOLDER / name
    has_results = (folder / COMPUTED).exists() or bool(finished_runs(folder))
    with writable("outputs", folder):
        record_prediction(folder, claim.prediction.date, claim.prediction.says, has_results)
    if claim.computes:
        _compute(folder, claim, seeds[:1])
    evidence = evidence_of(name, claim, config_dir, trusted=True)
    if claim.sweeps and not evidence.runs:
        for words in claim.sweeps:
            _command(["-m", *first_words(words, seeds[0], folder, config_dir)])
        evidence = evidence_of(name, claim, config_dir, trusted=True)
    _probe(claim, evidence.runs[: len(claim.sweeps)], config_dir)
    claim.require_numbers(evidence_of(name, claim, config_dir, trusted=True))
    if claim.computes:
        _compute(folder, claim, seeds)
    for words in claim.sweeps:
        span = f"range({seeds.start},{seeds.stop})"
        _command(["-m", *sweep_words(words, span, folder, config_dir)])
    evidence = evidence_of(name, claim, config_dir, trusted=True)
    _probe(claim, evidence.runs, config_dir)
    if claim.picture is not None:
        metric = ["--metric", claim.picture.metric] if claim.picture.metric else []
        _command(["plot", str(folder), "--kind", claim.picture.kind, *metric])
    if curves := claim.decision().curves(evidence):
        from attnexp.claims.picture import draw_curves  # Matplotlib takes half a second to import

        path = _figures(name) / "claim.png"
        draw_curves(curves, name, claim.axes, path)
        console.say(f"picture: {path}")


def _probe(claim: Claim, runs: "Sequence[Run]", config_dir: Path | None) -> None:
    """Make the interventions of a claim that runs lack."""
    own = ["--config-dir", str(config_dir)] if config_dir else []
    for run in runs:
        there = {row.intervention for row in run.interventions}
        if not set(claim.probe) <= there:
            _command(["probe", run.path, *claim.probe, *own])


def _compute(folder: Path, claim: Claim, seeds: Sequence[int]) -> None:
    """Compute the points of the seeds that are missing, and keep them after each seed."""
    from attnexp.training.device import prepare_processor  # which imports torch

    prepare_processor(threads=1)  # small products: more threads would wait for each other
    origin = origin_of(claim.computes)
    points = read_points(folder, origin)
    for found in claim.missing_points(seeds, points):
        points += found
        write_points(folder, origin, points)


def _plan(name: str, claim: Claim, seeds: range, config_dir: Path | None) -> None:
    """Say what a claim would run, and run nothing."""
    console.say(f"{name}: this takes about {claim.minutes:g} minutes of one core from nothing.")
    if claim.computes:
        points = read_points(FOLDER / name, origin_of(claim.computes))
        there = {point.seed for point in points}
        missing = sum(seed not in there for seed in seeds)
        console.say(f"{claim.computes.get('_target_')}: {missing} of {len(seeds)} seeds to compute")
    for words in claim.sweeps:
        span = f"range({seeds.start},{seeds.stop})"
        _command(["-m", *sweep_words(words, span, FOLDER / name, config_dir), "--dry-run"])
    if claim.probe:
        console.say(f"then on each run: attnexp probe RUN {' '.join(claim.probe)}")


def _command(words: Sequence[str]) -> None:
    from attnexp.cli.main import run  # which imports the modules of verbs

    console.say(shlex.join(["attnexp", *words]))
    if code := run(words):
        console.warn_aside("the claim stops here; the same command goes on from there")
        raise SystemExit(code)


def _show(entry: Entry) -> None:
    """Print the card of a claim: a table in a terminal, and a line for each entry in a pipe."""
    lines = list(card(entry))
    if not console.out.is_terminal:
        width = max(len(head) for head, _ in lines)
        for head, text in [(entry.name, ""), *lines]:
            console.say(f"{head:{width}}  {text}".rstrip())
        return
    table = console.plain_table([entry.name, ""])
    for head, text in lines:
        table.add_row(escape(head), escape(text))
    console.out.print(table)


def _list(entries: Sequence[Entry], config_dir: Path | None) -> None:
    table = console.plain_table(["claim", "verdict", "minutes", "asks"], right=["minutes"])
    for entry in entries:
        minutes = f"{entry.claim.minutes:g}" if entry.claim else ""
        asks = question(entry.name, config_dir)
        table.add_row(*map(escape, (entry.name, entry.text, minutes, asks)))
    console.out.print(table)
    for entry in entries:
        if entry.verdict.word == "failed":
            console.say(f"{entry.name}: {shortened(entry.verdict.because)}")
        elif entry.left_out:
            console.say(f"{entry.name}: {left_out_text(entry.left_out)}")
