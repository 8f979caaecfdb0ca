"""The parts of a LaTeX table that a paper chooses, and the widths of text in its type."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from attnexp.core.errors import RequestError, none_of


def by_character(widths: Mapping[int, str]) -> dict[str, int]:
    """Return the width of each character of a table of widths."""
    pairs = (((character, width) for character in own) for width, own in widths.items())
    return dict(chain.from_iterable(pairs))


ROMAN = by_character(
    {
        277: "!',.:;<[]_`il",
        305: "fj",
        333: " -",
        361: "I",
        388: "()t",
        391: "r",
        394: "s",
        444: "cez",
        472: ">?",
        500: '"$*/0123456789\\^ago{}~',
        513: "J",
        527: "kqvxy",
        555: "Sbdhnpu",
        611: "Z",
        625: "L",
        652: "F",
        680: "EP",
        708: "B",
        722: "CTw",
        736: "R",
        750: "AHNUVXY",
        763: "D",
        777: "&+=@KOQ",
        784: "G",
        833: "#%m",
        916: "M",
        1000: "|",
        1027: "W",
    }
)
"""The widths of characters of Computer Modern (cmr10), in thousandths of the size of type."""

TIMES = by_character(
    {
        180: "'",
        200: "|",
        250: " ,.",
        278: "/:;\\ijlt",
        333: "!()-I[]`fr",
        373: "J",
        389: "s",
        408: '"',
        444: "?acez",
        469: "^",
        480: "{}",
        500: "#$*0123456789_bdghknopquvxy",
        541: "~",
        556: "FS",
        557: "P",
        611: "ELT",
        612: "Z",
        667: "BCR",
        685: "+<=>",
        722: "ADGHKNOQUVXYw",
        747: "%",
        778: "&m",
        889: "M",
        921: "@",
        944: "W",
    }
)
"""The same of Times: STIXGeneral."""

FORMULA = by_character(
    {
        278: ".[]()",
        333: " ",
        445: ",",
        500: "0123456789",
        778: "-+",
        1222: "±",
        2222: "e",
    }
)
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
class Page:
    """The widths of a column and of the text of a page, and those of the characters of its type."""

    column: float
    text: float
    characters: Mapping[str, int]


ARTICLE = Page(219.0, 455.0, ROMAN)
"""The page of the narrowest papers with two columns: a column and the text, in pt."""

VENUES = {
    **dict.fromkeys(
        ("neurips2021", "neurips2022", "neurips2023", "neurips2024", "iclr2023", "iclr2024"),
        Page(5.5 * INCH, 5.5 * INCH, TIMES),
    ),
    **dict.fromkeys(("icml2022", "icml2024"), Page(3.25 * INCH, 6.75 * INCH, TIMES)),
}
"""The page of each venue, from its style file. The names are those of `attnexp plot --venue`."""


def of_venue(name: str) -> Page:
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
    page: Page = ARTICLE
