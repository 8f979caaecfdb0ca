"""The parts of a LaTeX table that a paper chooses."""

from collections.abc import Mapping
from dataclasses import dataclass

from attnexp.core.errors import RequestError, none_of
from attnexp.tables.type_widths import ROMAN, TIMES

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
