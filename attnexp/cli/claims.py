"""`attnexp claims`: published claims, run again, with verdicts."""

import argparse
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attnexp import console
from attnexp.claims.card import card, markdown
from attnexp.claims.claim import FOLDER, Claim, names, question, read_claim
from attnexp.claims.decision import Verdict
from attnexp.claims.evidence import Evidence, read_points, write_points
from attnexp.cli.arguments import Arguments, count
from attnexp.config.trust import search_user_modules
from attnexp.errors import RequestError
from attnexp.runs.files import write_output
from attnexp.select.collect import collect

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

    Raises RequestError for an unknown claim and a file that is not one, and SystemExit with the
    exit code of a sweep that fails and has said why.
    """
    arguments = parse(argv)
    if arguments.config_dir is not None:
        search_user_modules(arguments.config_dir)
    known = names(arguments.config_dir)
    if arguments.name is not None and arguments.all:
        raise RequestError(f"name a claim or --all, and not both: {arguments.name} and --all")
    chosen = known if arguments.all else [arguments.name] if arguments.name else []
    claims = {name: read_claim(name, arguments.config_dir) for name in chosen or known}
    for name in chosen:
        claims[name].decision()  # refused before anything is run
    for name in chosen:
        _run(name, claims[name], arguments.seeds or claims[name].seeds, arguments.config_dir)
    entries = [
        (name, claim, claim.verdict(_evidence(name, claim))) for name, claim in claims.items()
    ]
    if arguments.output is not None:
        page = arguments.output.resolve().parent
        pictures = {
            name: [
                Path(os.path.relpath(path.resolve(), page)).as_posix()
                for path in sorted(_figures(name).glob("*.png"))
            ]
            for name in claims
        }
        write_output("--output", arguments.output, markdown(entries, pictures).encode())
        console.say(f"wrote {arguments.output}")
    if len(chosen) == 1:
        _show(*entries[0])
    else:
        _list(entries, arguments.config_dir)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the arguments."""
    parser = Arguments("claims", "Run published claims again, and judge them.", EPILOG)
    parser.add_argument("name", nargs="?", metavar="NAME", help="without one: list the claims")
    parser.add_argument("--all", action="store_true", help="run and judge all of them")
    parser.add_argument(
        "--seeds", type=count, metavar="N", help="how many seeds; default: as the claim says"
    )
    parser.add_argument(
        "--config-dir", type=Path, metavar="DIR", help="a folder with claims of your own in claim/"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="write the cards there, as Markdown"
    )
    return parser.parse_intermixed_args(argv)


def _runs(name: str) -> "list[Run]":
    """Return the finished runs of a claim, one for each configuration and seed."""
    folder = FOLDER / name
    return [run for run in collect([folder]).runs if run.finished] if folder.is_dir() else []


def _figures(name: str) -> Path:
    """Return the folder of a claim's pictures, in which `attnexp plot` draws, too."""
    return FOLDER / name / "figures"


def _evidence(name: str, claim: Claim) -> Evidence:
    """Return what there is of a claim: its finished runs and its computed points."""
    return Evidence(_runs(name), read_points(FOLDER / name, claim.computes))


def _run(name: str, claim: Claim, seeds: int, config_dir: Path | None) -> None:
    """Do what is missing of a claim: what it computes, its sweeps, interventions and pictures."""
    console.say(f"{name}: this takes about {claim.minutes:g} minutes of one core from nothing.")
    own = ["--config-dir", str(config_dir)] if config_dir else []
    folder = FOLDER / name
    if claim.computes:
        _compute(folder, claim, seeds)
    for words in claim.sweeps:
        given = [f"seed=range({seeds})", "figures=false", f"output_dir={folder}"]
        if not any(word.startswith("hydra/launcher=") for word in words):
            given.append("hydra/launcher=parallel")
        _command(["-m", *own, *words, *given])
    if claim.probe:
        for run in _runs(name):
            there = {row.intervention for row in run.interventions}
            if not set(claim.probe) <= there:
                _command(["probe", run.path, *claim.probe, *own])
    if claim.picture is not None:
        metric = ["--metric", claim.picture.metric] if claim.picture.metric else []
        _command(["plot", str(folder), "--kind", claim.picture.kind, *metric])
    if curves := claim.decision().curves(_evidence(name, claim)):
        from attnexp.claims.picture import draw_curves  # Matplotlib takes half a second to import

        path = _figures(name) / "claim.png"
        draw_curves(curves, name, claim.axes, path)
        console.say(f"picture: {path}")


def _compute(folder: Path, claim: Claim, seeds: int) -> None:
    """Compute the points of the seeds that are missing, and keep them after each seed."""
    from attnexp.training.device import prepare_processor  # which imports torch

    prepare_processor(threads=1)  # small products: more threads would wait for each other
    points = read_points(folder, claim.computes)
    for found in claim.missing_points(seeds, points):
        points += found
        write_points(folder, claim.computes, points)


def _command(words: Sequence[str]) -> None:
    from attnexp.cli.main import run  # which imports the modules of verbs

    console.say(shlex.join(["attnexp", *words]))
    if code := run(words):
        console.warn_aside("the claim stops here; the same command goes on from there")
        raise SystemExit(code)


def _show(name: str, claim: Claim, verdict: Verdict) -> None:
    """Print the card of a claim: a table in a terminal, and a line for each entry in a pipe."""
    lines = list(card(claim, verdict))
    if not console.out.is_terminal:
        width = max(len(head) for head, _ in lines)
        for head, text in [(name, ""), *lines]:
            console.say(f"{head:{width}}  {text}".rstrip())
        return
    table = console.plain_table([name, ""])
    for head, text in lines:
        table.add_row(head, text)
    console.out.print(table)


def _list(entries: Sequence[tuple[str, Claim, Verdict]], config_dir: Path | None) -> None:
    table = console.plain_table(["claim", "verdict", "minutes", "asks"], right=["minutes"])
    for name, claim, verdict in entries:
        table.add_row(name, verdict.text, f"{claim.minutes:g}", question(name, config_dir))
    console.out.print(table)
