"""Options and folders of verbs that draw.

Matplotlib is imported when options are used, not when the parser is made.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from attnexp.cli.candidates import names
from attnexp.cli.parser import Argument
from attnexp.core import console
from attnexp.core.errors import RequestError, choices_text, none_of
from attnexp.plots.names import VENUES
from attnexp.runs import files

if TYPE_CHECKING:
    from attnexp.plots.base import Options
    from attnexp.plots.picture_style import Style
    from attnexp.runs.folder import Run
    from attnexp.select.configurations import Comparison
    from attnexp.select.renaming import Renaming

FEWEST_DOTS, MOST_DOTS = 50, 1200
"""The least and the most dots per inch of a PNG."""


def width_inches(text: str) -> float:
    """Return the inches of a width such as `8.4cm`. Raises ArgumentTypeError for another text."""
    from attnexp.plots.picture_style import inches

    try:
        return inches(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def dots(text: str) -> int:
    """Return a number of dots per inch.

    Raises ArgumentTypeError for a text outside FEWEST_DOTS to MOST_DOTS.
    """
    if not text.isdecimal() or not FEWEST_DOTS <= int(text) <= MOST_DOTS:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a whole number from {FEWEST_DOTS} to {MOST_DOTS}"
        )
    return int(text)


@dataclass(frozen=True, kw_only=True)
class StyleOptions:
    """The options for size, type, colours and title of pictures.

    Args:
        width (LENGTH): of the whole picture: 3.3in, 8.4cm, 240pt
        venue: width and type of neurips2024, icml2024, jmlr2001, ...
        slides: 16:9, 1,920 pixels wide, large type
        dark: on a dark background
        font: an installed font, such as 'Noto Serif'
        dpi (N): dots per inch of a PNG
        title (TEXT): in place of the title; empty: none
    """

    width: Annotated[float | None, Argument(type=width_inches)] = None
    venue: Annotated[str | None, Argument(completes=names(lambda: VENUES))] = None
    slides: bool = False
    dark: bool = False
    font: str | None = None
    dpi: Annotated[int | None, Argument(type=dots)] = None
    title: str | None = None

    def require_drawing(self, drawing: bool, otherwise: str) -> None:
        """Raise RequestError for an option if no picture is drawn. `otherwise` says why not."""
        given = [name for name, value in vars(self).items() if value not in (None, False)]
        if given and not drawing:
            raise RequestError(f"--{given[0]} is for pictures: {otherwise}")

    def asked(self, names: "Renaming | None" = None) -> "Style":
        """Return the style that the options ask for. `names` are other names of rows and columns.

        Raises RequestError for two options that set the size, for too few dots per inch of a slide,
        and for a venue or a font that does not exist.
        """
        from attnexp.plots.picture_style import Style, check_font, of_venue, of_width, slides
        from attnexp.select.renaming import KEPT

        sizes = {"width": self.width, "venue": self.venue, "slides": self.slides or None}
        given = [f"--{name}" for name, size in sizes.items() if size is not None]
        if len(given) > 1:
            raise RequestError(f"{' and '.join(given)} exclude each other: each sets the size")
        if self.slides:
            style = slides()
        elif self.venue is not None:
            style = of_venue(self.venue)
        else:
            style = Style() if self.width is None else of_width(self.width)
        if self.dpi is not None and self.slides and self.dpi < style.dpi:
            raise RequestError(
                f"--dpi: slides of {self.dpi} dots per inch have less than 1,920 pixels: "
                f"{style.dpi} is the least"
            )
        return replace(
            style,
            dark=self.dark,
            font=None if self.font is None else check_font(self.font),
            dpi=self.dpi or style.dpi,
            title=self.title,
            names=names or KEPT,
        )


def check_metric(runs: "Sequence[Run]", metric: str | None, kinds: Sequence[str]) -> None:
    """Raise RequestError for a metric that no picture of these kinds draws."""
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
    """Return the folder for pictures of some runs.

    That is the `figures` of a single run or of the single path, and otherwise `figures` in the
    current directory.

    Raises RequestError if the folder is a symbolic link.
    """
    alone = [runs[0].folder] if len(runs) == 1 else [*paths]
    folder = (alone[0] if len(alone) == 1 else Path()) / files.FIGURES
    if folder.is_symlink():
        raise RequestError(
            f"{folder} is a symbolic link, which is not followed: name a folder with --output"
        )
    return folder


def draw(
    subjects: "Sequence[Run] | Sequence[Comparison]",
    folder: Path,
    options: "Options",
    kinds: Sequence[str],
    formats: Sequence[str] = ("png",),
) -> bool:
    """Draw pictures as `catalogue.drawn`, print the paths, and return whether there are any."""
    from attnexp.plots.catalogue import drawn

    found = False
    for file in drawn(subjects, folder, options, kinds, formats):
        console.print_line(console.relative(file))
        found = True
    return found
