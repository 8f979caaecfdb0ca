"""The widths of text in print, from those of the characters, without TeX."""

import unicodedata
from collections.abc import Mapping
from itertools import chain


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

BOLD = 1.15
"""The width of bold type over that of ordinary type."""


def text_width(text: str, widths: Mapping[str, int]) -> float:
    """Return the width of a line as a part of the size of its type."""
    return sum(widths[each] if each in widths else _unknown(each) for each in text) / 1000


def _unknown(character: str) -> int:
    wide = unicodedata.east_asian_width(character) in "WF"
    return WIDEST if wide else 0 if unicodedata.combining(character) else NARROW
