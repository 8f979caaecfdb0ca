"""Arguments and folders of verbs that draw.

Matplotlib is imported when arguments are read, not when they are added.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from attnexp.cli.arguments import Arguments, count
from attnexp.cli.candidates import names
from attnexp.core.errors import RequestError, choices_text, none_of
from attnexp.plots.names import VENUES
from attnexp.runs import files

if TYPE_CHECKING:
    from attnexp.plots.look import Look
    from attnexp.runs.folder import Run
    from attnexp.select.renaming import Renaming

FEWEST_DOTS, MOST_DOTS = 50, 1200
"""Dots per inch that a PNG may have."""

LOOK = ("width", "venue", "slides", "dark", "font", "dpi", "title")


def add_look(parser: Arguments) -> None:
    """Add the arguments for size, type, colours and title of pictures."""
    parser.add_argument(
        "--width", type=width, metavar="LENGTH", help="of the whole picture: 3.3in, 8.4cm, 240pt"
    )
    parser.add_argument(
        "--venue",
        completes=names(lambda: VENUES),
        metavar="NAME",
        help="width and type of neurips2024, icml2024, jmlr2001, ...",
    )
    parser.add_argument("--slides", action="store_true", help="16:9, 1,920 pixels wide, large type")
    parser.add_argument("--dark", action="store_true", help="on a dark background")
    parser.add_argument("--font", metavar="NAME", help="an installed font, such as 'Noto Serif'")
    parser.add_argument("--dpi", type=dots, metavar="N", help="dots per inch of a PNG")
    parser.add_argument("--title", metavar="TEXT", help="in place of the title; empty: none")


def add_grid(parser: Arguments) -> None:
    """Add the arguments for the number of maps in a picture of attention."""
    parser.add_argument(
        "--columns", type=count, metavar="N", help="maps of attention next to each other"
    )
    parser.add_argument(
        "--all",
        dest="most",
        action="store_const",
        const=sys.maxsize,
        help="all test examples, seeds and epochs, not the first or typical ones",
    )


def width(text: str) -> float:
    """Return the inches of a width."""
    from attnexp.plots.look import inches

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


def require_drawing(arguments: argparse.Namespace, drawing: bool, otherwise: str) -> None:
    """Raise RequestError for arguments of pictures if none is drawn: `otherwise` says why."""
    given = [name for name in LOOK if getattr(arguments, name, None) not in (None, False, [])]
    if given and not drawing:
        raise RequestError(f"--{given[0]} is for pictures: {otherwise}")


def asked_look(arguments: argparse.Namespace, names: "Renaming | None" = None) -> "Look":
    """Return the look that the arguments ask for, with these names if any.

    Raises RequestError for two sizes, and for a venue or a font that does not exist.
    """
    from attnexp.plots.look import Look, check_font, of_venue, of_width, slides
    from attnexp.select.renaming import KEPT

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
    return replace(
        look,
        dark=arguments.dark,
        font=None if arguments.font is None else check_font(arguments.font),
        dpi=arguments.dpi or look.dpi,
        title=arguments.title,
        names=names or KEPT,
    )


def check_metric(runs: "Sequence[Run]", metric: str | None, kinds: Sequence[str]) -> None:
    """Raise RequestError for a metric that no picture of these kinds can draw."""
    from attnexp.plots.lines import asked_columns
    from attnexp.select.number import numbers_of

    if metric is None:
        return
    if "loss" in kinds:
        asked_columns(runs, metric)
        return
    known = dict.fromkeys([*(name for run in runs for name in run.epochs), *numbers_of(runs)])
    if metric not in known:
        raise RequestError(f"--metric: {none_of(metric, known)}")


def check_animated(formats: Sequence[str], kinds: Sequence[str]) -> None:
    """Raise RequestError for an animation of pictures that have no frames."""
    from attnexp.plots.catalogue import ANIMATED, PICTURES

    framed = [picture.name for picture in PICTURES if picture.frames is not None]
    if ANIMATED in formats and (not kinds or not set(kinds) <= set(framed)):
        raise RequestError(
            f"--format {ANIMATED} has a frame per epoch: ask for --kind {choices_text(framed)}"
        )


def figures_folder(runs: "Sequence[Run]", paths: Sequence[Path]) -> Path:
    """Return the folder of pictures: a single run's own, else figures/ next to the runs.

    Raises RequestError if it is a symbolic link.
    """
    alone = [runs[0].folder] if len(runs) == 1 else [*paths]
    folder = (alone[0] if len(alone) == 1 else Path()) / files.FIGURES
    if folder.is_symlink():
        raise RequestError(
            f"{folder} is a symbolic link, which is not followed: name a folder with --output"
        )
    return folder
