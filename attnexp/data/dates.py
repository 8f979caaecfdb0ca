"""Dates written in several languages, to be translated to ISO 8601 by characters."""

import datetime
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

import torch
from jaxtyping import Int
from torch import Tensor

from attnexp.core.batch import Batch
from attnexp.data.date_forms import DateForm, Piece, date_forms
from attnexp.data.sequences import (
    FIRST,
    PAD,
    Families,
    Sequences,
    draw_distinct,
    sequence_batch,
    sequence_spec,
    split,
    stack,
)

ISO = "0123456789-"
ISO_PLACES = {"year": slice(0, 4), "month": slice(5, 7), "day": slice(8, 10)}
ISO_LENGTH = 10

MOST_YEARS = 400
"""The most years of a range: every text of every date is compared with every other."""

Calendar = Mapping[str, Int[Tensor, " days"]]
"""For each part of a date, the index of its value on each day, into the texts of a `Piece`."""


@dataclass(eq=False, repr=False)
class Dates(Sequences):
    """source = a date as people write it, target = the same date as yyyy-mm-dd; characters.

    Each date is written in a locale and a format, both drawn uniformly. A format is one of CLDR's
    own for the locale (short, medium, long or full) or a CLDR pattern (Unicode Technical Standard
    35, part 4) of the fields y, M, L, d, E and c, such as "d MMM yy", which every locale fills with
    its own names. The texts are Babel's, in its version of CLDR; upper and lower case are kept.
    Dates are uniform over the years `first_year` to `last_year` and all different: those of the
    test set are in no other set, however they are written.

    A text must not mean two dates, and all texts of all dates in the range are checked for that.
    1/2/20 is in January or in February, so en_US and es cannot be combined in short formats, and a
    year in two digits needs a range of at most 100 years.

    The gold alignment of a digit is the character that it was copied from, except for

    - a month that is written as a name: the first character of the name;
    - the zero before a day or a month that is written as one digit: that digit;
    - the century of a year that is written in two digits, and a hyphen: nothing (-1).

    The source vocabulary is the characters that occur in any text of any date in the range, with
    the space, which tells `attnexp.data.text` that symbols are characters. It depends on the
    settings alone. The target vocabulary is 0 to 9 and the hyphen. The formats fix the lengths, so
    no setting gives the test set other ones.

    Example, in locale de and format long:
        source     3. März 2021
        target     2021-03-03
        alignment  8 9 10 11 -1 3 3 -1 0 0 -1

    Raises ValueError for a set without examples, a range of years that is empty, above 400 years or
    not within 1000 to 9999, more examples than dates, an unknown locale, a format of other fields
    or without exactly one year, month and day, and for a text that means two dates.
    """

    packages = MappingProxyType({"babel": "attnexp[dates]"})

    first_year: int = 1950
    last_year: int = 2049
    locales: Sequence[str] = ("de", "en_GB", "es", "fr", "it", "nl")
    formats: Sequence[str] = (
        "short",
        "medium",
        "long",
        "full",
        "d.M.y",
        "y/MM/dd",
        "MMMM d, y",
        "EEE d MMM yy",
    )

    def __post_init__(self, generator: torch.Generator) -> None:
        sizes = self.set_sizes()
        years = _years(self.first_year, self.last_year)
        forms = date_forms(self.locales, self.formats, years)
        pieces = {piece for form in forms for piece in form.pieces}
        alphabet = sorted({" "}.union(*(text for piece in pieces for text in piece.texts)))
        ids = {character: FIRST + i for i, character in enumerate(alphabet)}
        tables = {piece: _table(piece, ids) for piece in pieces}
        _check_meanings(tuple(forms), years)
        whole = _drawn(sum(sizes), forms, tables, years, generator)
        self.train, self.validation, self.test = split(whole, sizes, generator)
        self.spec = sequence_spec(alphabet, ISO, self.train, self.test)


def _drawn(
    count: int,
    forms: Sequence[DateForm],
    tables: Mapping[Piece, Tensor],
    years: range,
    generator: torch.Generator,
) -> Batch:
    """Return a batch of different dates of these years, each in one of the forms."""
    calendar = _calendar(years)
    origins = {piece: _origins(piece, years[0]) for piece in tables if piece.part in ISO_PLACES}
    every_day = [len(calendar["day"])]
    families = Families({"days": every_day}, f"the years {years[0]} to {years[-1]}")
    days = draw_distinct(count, families, generator)["days"][:, 0]
    choice = torch.randint(len(forms), days.shape, generator=generator)
    sources, targets, alignments = [], [], []
    for number, form in enumerate(forms):
        chosen = days[choice == number]
        dates = {part: index[chosen] for part, index in calendar.items()}
        source, alignment = _write(form, tables, origins, dates)
        sources.append(source)
        alignments.append(alignment)
        targets.append(_iso(dates, years[0]))
    longest = max(source.shape[1] for source in sources)
    return sequence_batch(stack(sources, longest), torch.cat(targets), torch.cat(alignments))


def _years(first_year: int, last_year: int) -> range:
    if not 1000 <= first_year <= last_year <= 9999:
        raise ValueError(
            "first_year and last_year must be within 1000 to 9999, the first not after the last, "
            f"got {first_year} and {last_year}"
        )
    if last_year - first_year >= MOST_YEARS:
        raise ValueError(
            f"first_year to last_year must be at most {MOST_YEARS} years, because every text of "
            f"every date is checked, got {first_year} to {last_year}"
        )
    return range(first_year, last_year + 1)


def _calendar(years: range) -> Calendar:
    firsts = [datetime.date(year, month, 1).toordinal() for year in years for month in range(1, 13)]
    days = torch.arange(firsts[0], datetime.date(years[-1], 12, 31).toordinal() + 1)
    starts = torch.tensor(firsts)
    months = torch.searchsorted(starts, days, right=True) - 1
    return {
        "year": months // 12,
        "month": months % 12,
        "day": days - starts[months],
        "weekday": (days - 1) % 7,
        "literal": torch.zeros_like(days),
    }


def _table(piece: Piece, ids: Mapping[str, int]) -> Int[Tensor, "values width"]:
    """Return the ids of the characters of a piece, a row for each text, padded."""
    width = max(map(len, piece.texts))
    rows = [[ids[character] for character in text] for text in piece.texts]
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])


def _write(
    form: DateForm,
    tables: Mapping[Piece, Tensor],
    origins: Mapping[Piece, Tensor],
    dates: Calendar,
) -> tuple[Int[Tensor, "dates longest"], Int[Tensor, "dates 10"]]:
    """Return the texts of dates in one form, and the place that each target digit comes from."""
    blocks = [tables[piece][dates[piece.part]] for piece in form.pieces]
    wide = torch.cat(blocks, dim=1)
    present = wide != PAD
    columns = torch.full((len(wide), ISO_LENGTH), -1)
    start = 0
    for piece, block in zip(form.pieces, blocks, strict=True):
        if piece.part in ISO_PLACES:
            inside = origins[piece][dates[piece.part]]
            columns[:, ISO_PLACES[piece.part]] = torch.where(inside < 0, -1, start + inside)
        start += block.shape[1]
    source = wide.gather(1, (~present).byte().argsort(dim=1, stable=True))
    places = (present.cumsum(dim=1) - 1).gather(1, columns.clamp(min=0))
    return source, places.masked_fill(columns < 0, -1)


def _origins(piece: Piece, first_year: int) -> Int[Tensor, "values digits"]:
    """Return the place that each target digit comes from, in each text of a year, month or day."""
    if piece.part == "year":
        digits = [str(first_year + i) for i in range(len(piece.texts))]
    else:
        digits = [f"{1 + i:02}" for i in range(len(piece.texts))]
    return torch.tensor([_origin(*pair) for pair in zip(piece.texts, digits, strict=True)])


def _origin(text: str, digits: str) -> list[int]:
    """Return the places in `text` that `digits` come from, as the docstring of `Dates` says."""
    text = "".join(str(unicodedata.decimal(character, character)) for character in text)
    if digits in text:
        return [text.index(digits) + i for i in range(len(digits))]
    if len(digits) == 4:
        return [-1, -1, text.index(digits[2:]), text.index(digits[2:]) + 1]
    return [max(0, text.find(digits[1:]) if digits[0] == "0" else 0)] * 2


def _iso(dates: Calendar, first_year: int) -> Int[Tensor, "dates 10"]:
    """Return the ids of yyyy-mm-dd."""
    year, month, day = dates["year"] + first_year, dates["month"] + 1, dates["day"] + 1
    hyphen = torch.full_like(year, ISO.index("-"))
    columns = [year // 1000, year // 100 % 10, year // 10 % 10, year % 10, hyphen]
    columns += [month // 10, month % 10, hyphen, day // 10, day % 10]
    return FIRST + torch.stack(columns, dim=1)


@cache
def _check_meanings(forms: tuple[DateForm, ...], years: range) -> None:
    """Raise ValueError if a text of one date, in any form, is also a text of another date.

    There may be more than a million texts. They are compared once per process.
    """
    calendar = _calendar(years)
    different = {form.pieces: form for form in forms}.values()
    parts = {part: index.tolist() for part, index in calendar.items()}
    days = list(range(len(parts["day"])))  # one number for a day, whatever its forms
    meant: dict[str, int] = {}
    for form in different:
        pieces = ([piece.texts[i] for i in parts[piece.part]] for piece in form.pieces)
        for day, text in zip(days, map("".join, zip(*pieces, strict=True)), strict=True):
            other = meant.setdefault(text, day)
            if other != day:
                first = next(one for one in different if _text(one, calendar, other) == text)
                raise ValueError(
                    f"{text!r} would mean {_date(calendar, other, years[0])} in {first} and "
                    f"{_date(calendar, day, years[0])} in {form}: leave out a locale or a "
                    "format, or choose fewer years"
                )


def _text(form: DateForm, calendar: Calendar, day: int) -> str:
    return "".join(piece.texts[int(calendar[piece.part][day])] for piece in form.pieces)


def _date(calendar: Calendar, day: int, first_year: int) -> datetime.date:
    year, month, number = (int(calendar[part][day]) for part in ISO_PLACES)
    return datetime.date(first_year + year, 1 + month, 1 + number)
