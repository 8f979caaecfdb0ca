"""Written forms of a date: the words of a locale in the order of a pattern."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Literal

CLDR_FORMATS = ("short", "medium", "long", "full")
"""The formats that CLDR has for every locale."""

Part = Literal["year", "month", "day", "weekday", "literal"]

FIELDS: dict[str, Part] = {
    "y": "year",
    "M": "month",
    "L": "month",
    "d": "day",
    "E": "weekday",
    "c": "weekday",
}
"""Fields of a CLDR pattern that a format may use, with the part of the date that each writes."""


@dataclass(frozen=True)
class Piece:
    """Holds the texts of one part of a written date, one for each value of the part, in order.

    Months and days begin with the first, weekdays with Monday, and years with the first of the
    range. A literal is the same in every date and has one text.
    """

    part: Part
    texts: tuple[str, ...]


@dataclass(frozen=True)
class DateForm:
    """Holds a locale and a format, with the pieces of a written date from left to right."""

    locale: str
    format: str
    pieces: tuple[Piece, ...]

    def __str__(self) -> str:
        return f"{self.locale} {self.format!r}"


def date_forms(locales: Sequence[str], formats: Sequence[str], years: range) -> list[DateForm]:
    """Return the forms of every format in every locale.

    Raises ValueError for no locale or format, an unknown locale, and a pattern with fields that are
    not in `FIELDS` or without exactly one year, one month and one day.
    """
    if not locales or not formats:
        raise ValueError(f"locales and formats must not be empty, got {locales}, {formats}")
    for locale in locales:
        _check_locale(locale)
    return [
        DateForm(locale, format, _pieces(locale, format, years))
        for locale in locales
        for format in formats
    ]


def _pieces(locale: str, format: str, years: range) -> tuple[Piece, ...]:
    from babel import Locale
    from babel.dates import tokenize_pattern

    named = format in CLDR_FORMATS
    pattern = Locale.parse(locale).date_formats[format].pattern if named else format
    pieces = []
    for _, token in tokenize_pattern(pattern):
        if isinstance(token, str):
            pieces.append(Piece("literal", (token,)))
            continue
        letter, count = token
        if letter not in FIELDS:
            raise ValueError(
                f"format {format!r} of locale {locale} has the field {letter!r}: choose one of "
                f"{', '.join(CLDR_FORMATS)} or a pattern of the fields {', '.join(FIELDS)}"
            )
        try:
            pieces.append(_field(locale, letter, count, years))
        except ValueError as error:
            raise ValueError(
                f"format {format!r} of locale {locale} cannot be written: {error}"
            ) from error
    parts = sorted(piece.part for piece in pieces if piece.part not in ("weekday", "literal"))
    if parts != ["day", "month", "year"]:
        raise ValueError(
            f"a format must have one year, one month and one day, as in 'd MMMM y', "
            f"got {format!r} of locale {locale}, which is {pattern!r}"
        )
    return tuple(pieces)


@cache
def _field(locale: str, letter: str, count: int, years: range) -> Piece:
    """Return a field of a pattern, with the text of each of its values."""
    from babel.dates import format_date

    examples = {
        "year": [datetime.date(year, 1, 1) for year in years],
        "month": [datetime.date(2000, month, 1) for month in range(1, 13)],
        "day": [datetime.date(2000, 1, day) for day in range(1, 32)],
        "weekday": [datetime.date(2001, 1, day) for day in range(1, 8)],
    }
    part = FIELDS[letter]
    return Piece(part, tuple(format_date(day, letter * count, locale) for day in examples[part]))


def _check_locale(locale: str) -> None:
    from babel.localedata import locale_identifiers

    known = sorted(locale_identifiers())
    if locale in known:
        return
    near = get_close_matches(str(locale), known) or ["de", "en_GB", "zh_Hant"]
    raise ValueError(f"unknown locale {locale!r}: choose one of CLDR's, such as {', '.join(near)}")
