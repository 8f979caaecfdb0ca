"""The parts of a LaTeX table that a paper chooses, and the widths of text in its type."""

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from attnexp.core.errors import RequestError, none_of

WIDTHS = json.loads((Path(__file__).parent / "templates" / "type_widths.json").read_text("utf-8"))
"""The characters of each type by their width in thousandths of its size."""


def by_character(font: str) -> dict[str, int]:
    """Return the width of each character of a type."""
    return {character: int(width) for width, own in WIDTHS[font].items() for character in own}


ROMAN = by_character("roman")
"""The widths of characters of Computer Modern (cmr10), in thousandths of the size of type."""

TIMES = by_character("times")
"""The same of Times: STIXGeneral."""

FORMULA = by_character("formula")
"""The same of a formula, with the space around signs; `e` is a cross and 10 before an exponent."""

WIDEST, NARROW = 1000, 800
"""The widths of characters that no font here has, such as Chinese ones and others."""

BOLD_TYPE = 1.15
"""The width of bold type over that of ordinary type."""


def text_width(text: str, widths: Mapping[str, int]) -> float:
    """Return the width of a line as a part of the size of its type."""
    return sum(widths[each] if each in widths else _unknown(each) for each in text) / 1000


def _unknown(character: str) -> int:
    wide = unicodedata.east_asian_width(character) in "WF"
    return WIDEST if wide else 0 if unicodedata.combining(character) else NARROW


INCH = 72.27
"""Points of TeX in an inch."""


@dataclass(frozen=True)
class PaperPage:
    """The widths of a column and of the text of a page, and those of the characters of its type."""

    column: float
    text: float
    characters: Mapping[str, int]


ARTICLE = PaperPage(219.0, 455.0, ROMAN)
"""The page of the narrowest papers with two columns: a column and the text, in pt."""

VENUES = {
    **dict.fromkeys(
        ("neurips2021", "neurips2022", "neurips2023", "neurips2024", "iclr2023", "iclr2024"),
        PaperPage(5.5 * INCH, 5.5 * INCH, TIMES),
    ),
    **dict.fromkeys(("icml2022", "icml2024"), PaperPage(3.25 * INCH, 6.75 * INCH, TIMES)),
}
"""The page of each venue, from its style file. The names are those of `attnexp plot --venue`."""


def of_venue(name: str) -> PaperPage:
    """Return the page of a venue. Raises RequestError for one whose page is not known."""
    if name not in VENUES:
        raise RequestError(f"--venue: {none_of(name, VENUES)}")
    return VENUES[name]


@dataclass(frozen=True)
class Paper:
    """Label, caption, digits and page of tables in LaTeX.

    `label` is that of the first table; the others have it with `-2`, `-3` and so on. `caption` is
    that of the first table, in LaTeX. `digits` are those after the decimal point of the values of
    metrics, by default four significant ones.
    """

    label: str = ""
    caption: str = ""
    digits: int | None = None
    page: PaperPage = ARTICLE
