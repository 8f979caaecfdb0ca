"""`attnexp plot`: reads the command line, and draws from what runs stored."""

import argparse
import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from attnexp.cli.arguments import Arguments, add_view, add_where, listed, places
from attnexp.core import console
from attnexp.core.errors import RequestError, choices_text, none_of, writable
from attnexp.plots.base import Options
from attnexp.plots.catalogue import PICTURES, drawn
from attnexp.plots.lines import asked_columns, intact, names_of
from attnexp.plots.look import Look, inches, of_venue, of_width, slides
from attnexp.plots.style import FORMATS
from attnexp.runs import files
from attnexp.runs.attention import View
from attnexp.runs.folder import Run, load_run
from attnexp.select.configurations import comparisons
from attnexp.select.selection import selected

FEWEST_DOTS, MOST_DOTS = 50, 1200
"""Dots per inch that a PNG may have."""

KINDS = [picture.name for picture in PICTURES]

EPILOG = """examples:
  attnexp plot outputs/RUN                            the pictures of a run again
  attnexp plot outputs/RUN --format svg,pdf           fit for a paper
  attnexp plot outputs                                configurations compared, bands over seeds
  attnexp plot outputs --kind attention --example 2   one test example, one row per configuration
  attnexp plot outputs --venue icml2024 --format pdf  the width and the type of a venue
  attnexp plot outputs --name additive="Bahdanau"     a label in pictures
"""


def main(argv: Sequence[str]) -> None:
    """Draw the pictures that the arguments ask for, and say where they are.

    Raises RequestError for contradictory arguments, for missing runs, and for pictures that cannot
    be drawn of them.
    """
    arguments = parse(argv)
    view = View(arguments.attention, arguments.layer, arguments.head, arguments.example)
    paths = [Path(path) for path in arguments.paths or ["outputs"]]
    runs = chosen_runs(paths, arguments.where)
    kinds = check_all(arguments.kind, KINDS, "kind")
    formats = check_all(arguments.format, FORMATS, "format")
    look = asked_look(arguments, runs)
    if arguments.metric is not None:
        asked_columns(runs, arguments.metric)
    if len(runs) == 1:
        folder = runs[0].folder / files.FIGURES
    else:
        folder = (paths[0] if len(paths) == 1 else Path()) / files.FIGURES
    if arguments.output is None and folder.is_symlink():
        raise RequestError(
            f"{folder} is a symbolic link, which is not followed: name a folder with --output"
        )
    folder = arguments.output or folder
    subjects = runs if len(runs) == 1 else comparisons(runs)
    with writable("--output", folder):
        options = Options(view, arguments.metric, look)
        for file in drawn(subjects, folder, options, kinds, formats):
            console.say(console.relative(file))


def chosen_runs(paths: Sequence[Path], where: str | None) -> list[Run]:
    """Return the run that is named, or else the finished runs below the paths.

    Raises RequestError where there is nothing to draw.
    """
    if len(paths) == 1 and os.path.lexists(paths[0] / files.SUMMARY):
        return [load_run(paths[0])]
    runs = selected([str(path) for path in paths], where)
    finished = [run for run in runs if run.finished]
    if not finished:
        raise RequestError(f"none of the {len(runs)} runs has finished: name one to see its losses")
    left = len(runs) - len(finished)
    if left:
        console.warn(f"left out {left} run{'s' if left > 1 else ''} that did not finish")
    sound = finished if len(finished) == 1 else intact(finished)[0]
    if not sound:
        raise RequestError(f"none of the {len(finished)} finished runs has files that can be drawn")
    return sound


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the arguments."""
    parser = Arguments("plot", "Draw pictures of runs from what they stored.", EPILOG)
    parser.add_argument("paths", nargs="*", metavar="PATH", help="runs, or folders of runs")
    parser.add_argument(
        "--kind", type=listed, default=[], metavar="NAME,...", help=choices_text(KINDS)
    )
    parser.add_argument(
        "--format", type=listed, default=["png"], metavar="NAME,...", help="png, svg or pdf"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="default: the run's own figures/, or figures/ next to the runs",
    )
    add_where(parser)
    parser.add_argument("--metric", metavar="NAME", help="a column of metrics.csv, for the loss")
    parser.add_argument(
        "--example", type=places, default=(), metavar="N,...", help="test examples, from 1"
    )
    add_view(parser, heads="each, or their mean")
    parser.add_argument(
        "--width", type=width, metavar="LENGTH", help="of the whole picture: 3.3in, 8.4cm, 240pt"
    )
    parser.add_argument(
        "--venue", metavar="NAME", help="width and type of neurips2024, icml2024, jmlr2001, ..."
    )
    parser.add_argument("--slides", action="store_true", help="16:9, 1,920 pixels wide, large type")
    parser.add_argument("--dark", action="store_true", help="on a dark background")
    parser.add_argument("--dpi", type=dots, metavar="N", help="dots per inch of a PNG")
    parser.add_argument("--title", metavar="TEXT", help="in place of the title; empty: none")
    parser.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="OLD=NEW",
        help="a label in pictures; can be repeated",
    )
    return parser.parse_intermixed_args(argv)


def width(text: str) -> float:
    """Return the inches of a width."""
    try:
        return inches(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def dots(text: str) -> int:
    """Return dots per inch."""
    if not text.isdecimal() or not FEWEST_DOTS <= int(text) <= MOST_DOTS:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a whole number from {FEWEST_DOTS} to {MOST_DOTS}"
        )
    return int(text)


def asked_look(arguments: argparse.Namespace, runs: Sequence[Run]) -> Look:
    """Return the look that the arguments ask for.

    Raises RequestError for two sizes, and for a venue or a name that does not exist.
    """
    sizes = ("width", "venue", "slides")
    asked = [f"--{name}" for name in sizes if getattr(arguments, name) not in (None, False)]
    if len(asked) > 1:
        raise RequestError(f"{' and '.join(asked)} exclude each other: each sets the size")
    if arguments.slides:
        look = slides()
    elif arguments.venue is not None:
        look = of_venue(arguments.venue)
    else:
        look = Look() if arguments.width is None else of_width(arguments.width)
    if arguments.dpi is not None and arguments.slides and arguments.dpi < look.dpi:
        raise RequestError(
            f"--dpi: slides of {arguments.dpi} dots per inch have less than 1,920 pixels: "
            f"{look.dpi} is the least"
        )
    names = dict(asked_name(text, shown_names(runs)) for text in arguments.name)
    dpi = arguments.dpi or look.dpi
    return replace(look, dark=arguments.dark, dpi=dpi, title=arguments.title, names=names)


def asked_name(text: str, shown: Collection[str]) -> tuple[str, str]:
    """Return a label and the one that replaces it. Raises RequestError for one that is not shown.

    A label may have an equals sign, as in `width=1=narrow`.
    """
    for old in sorted(shown, key=len, reverse=True):
        if text.startswith(f"{old}="):
            return old, text.removeprefix(f"{old}=")
    old, sign, _ = text.partition("=")
    if not sign:
        raise RequestError(f"--name: '{text}' has no new label: write OLD=NEW")
    raise RequestError(f"--name: {none_of(old, shown)}")


def shown_names(runs: Sequence[Run]) -> set[str]:
    """Return the labels of the configurations, their parts, and the scoring functions."""
    labels = {name for comparison in comparisons(runs) for name in names_of(comparison)}
    parts = {part for label in labels for part in label.split(", ")}
    return labels | parts | {run.model for run in runs}


def check_all(names: Sequence[str], choices: Sequence[str], what: str) -> Sequence[str]:
    """Return the names. Raises RequestError for one that is not a choice."""
    for name in names:
        if name not in choices:
            raise RequestError(f"--{what}: {none_of(name, choices)}")
    return names
