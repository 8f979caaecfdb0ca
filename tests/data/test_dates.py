import datetime
import re
import sys
from functools import cache
from typing import Any

import pytest
import torch
from babel.dates import format_date, get_month_names

from attnexp.data.contract import splits
from attnexp.data.dates import Dates
from attnexp.data.text import source_text, target_text

LOCALES = ("de", "en_GB", "es", "fr", "it", "nl")
FORMATS = (
    "short",
    "medium",
    "long",
    "full",
    "d.M.y",
    "y/MM/dd",
    "MMMM d, y",
    "EEE d MMM yy",
)
SMALL: dict[str, Any] = {
    "num_train": 200,
    "num_validation": 20,
    "num_test": 30,
    "first_year": 2018,
    "last_year": 2021,
}


def build(**settings: Any) -> Dates:
    return Dates(torch.Generator().manual_seed(0), **SMALL | settings)


@cache
def shipped() -> Dates:
    return Dates(torch.Generator().manual_seed(0))


@cache
def examples(data: Dates) -> list[tuple[str, datetime.date, list[int]]]:
    """Text, date and alignment of every example; the last without its end symbol."""
    return [
        (
            source_text(batch.keys[i], data.spec),
            datetime.date.fromisoformat(target_text(batch.targets[i], data.spec)),
            batch.alignment[i, :10].tolist(),
        )
        for batch in splits(data).values()
        for i in range(len(batch))
    ]


def meanings(locales, formats, days) -> dict[str, set[datetime.date]]:
    """Every text and what it can mean, by asking Babel for each."""
    found: dict[str, set[datetime.date]] = {}
    for day in days:
        for locale in locales:
            for form in formats:
                found.setdefault(format_date(day, form, locale), set()).add(day)
    return found


def days_of(first_year: int, last_year: int) -> list[datetime.date]:
    first = datetime.date(first_year, 1, 1)
    count = (datetime.date(last_year, 12, 31) - first).days + 1
    return [first + datetime.timedelta(days=i) for i in range(count)]


@cache
def names_of(month: int) -> tuple[str, ...]:
    return tuple(
        get_month_names(width, context, locale)[month]
        for width in ("wide", "abbreviated")
        for context in ("format", "stand-alone")
        for locale in LOCALES
    )


def places_by_reading(text: str, day: datetime.date) -> list[int]:
    """The gold alignment of the shipped formats, found in the text alone and not from pieces."""
    numbers = [(match[0], match.start()) for match in re.finditer(r"\d+", text)]
    if len(numbers[0][0]) == 4:
        year, month, number = numbers
    elif len(numbers) == 3:
        number, month, year = numbers
    else:
        number, year = numbers
        words = [match.start() for match in re.finditer(r"[^\W\d]+", text)]
        month = ("", max(word for word in words if text.startswith(names_of(day.month), word)))
    digits, start = year
    places = [start + i for i in range(4)] if len(digits) == 4 else [-1, -1, start, start + 1]
    for digits, start in (month, number):
        last = start + 1 if len(digits) == 2 else start
        places += [-1, start, last]
    return places


def test_every_form_occurs():
    rows = examples(shipped())
    for locale in LOCALES:
        for form in FORMATS:
            assert any(text == format_date(day, form, locale) for text, day, _ in rows)


def test_alignment_as_a_reader_finds_it():
    for text, day, places in examples(shipped()):
        assert places == places_by_reading(text, day), text


def test_dates_are_all_different():
    dates = [day for _, day, _ in examples(shipped())]
    assert len(set(dates)) == len(dates)
    assert {day.year for day in dates} == set(range(1950, 2050))
    assert {(day.month, day.day) for day in dates} >= {(2, 28), (2, 29), (12, 31), (1, 1)}


def test_the_calendar_is_complete():
    data = build(num_train=1459, num_validation=1, num_test=1)
    assert sorted(day for _, day, _ in examples(data)) == days_of(2018, 2021)


@pytest.mark.parametrize(
    ("locales", "formats", "good"),
    [
        (LOCALES, FORMATS, True),
        (["en_US"], ["short"], True),
        (["en_US", "es"], ["long"], True),
        (["en_US", "es"], ["short"], False),
        (["en_US", "fr"], ["short"], True),  # 1/2/01 and 01/02/2001
        (["nl"], ["MMMMM d y"], False),
        (["sv"], ["yy-MM-dd", "dd-MM-yy"], False),
        (["zh"], ["short", "medium", "long", "full"], True),
        (["de"], ["dMyy"], False),
        (["de"], ["ddMMyy"], True),
    ],
)
def test_what_is_refused_is_what_means_two_dates(locales, formats, good):
    settings = {"first_year": 2001, "last_year": 2003, "locales": locales, "formats": formats}
    found = meanings(locales, formats, days_of(2001, 2003))
    assert (max(map(len, found.values())) == 1) == good
    if good:
        build(**settings)
        return
    with pytest.raises(ValueError, match="would mean") as refusal:
        build(**settings)
    text, one, other = re.fullmatch(
        r"'(.*)' would mean (\S*) in .* and (\S*) in .*: leave out a locale or a format, or "
        "choose fewer years",
        str(refusal.value),
    ).groups()
    assert {datetime.date.fromisoformat(one), datetime.date.fromisoformat(other)} <= found[text]


def test_two_digits_are_enough_for_a_hundred_years_and_not_for_more():
    build(locales=["de"], formats=["short"], first_year=1930, last_year=2029)
    with pytest.raises(ValueError, match=r"'(.{6})30' would mean .* or choose fewer years"):
        build(locales=["de"], formats=["short"], first_year=1930, last_year=2030)


@pytest.mark.parametrize(
    ("locale", "form", "day", "text", "places"),
    [
        ("de", "short", "2019-11-07", "07.11.19", [-1, -1, 6, 7, -1, 3, 4, -1, 0, 1]),
        ("dz", "y MMM dd", "2020-03-10", "2020 ༣ 10", [0, 1, 2, 3, -1, 5, 5, -1, 7, 8]),
        ("it", "EEE d MMM y", "2020-03-03", "mar 3 mar 2020", [10, 11, 12, 13, -1, 6, 6, -1, 4, 4]),
    ],
)
def test_alignment_by_hand(locale, form, day, text, places):
    data = build(num_train=1459, num_validation=1, num_test=1, locales=[locale], formats=[form])
    wanted = datetime.date.fromisoformat(day)
    assert [row[::2] for row in examples(data) if row[1] == wanted] == [(text, places)]


def test_there_is_a_space_also_where_no_text_has_one():
    data = build(formats=["short"])
    assert all(" " not in text for text, *_ in examples(data))
    assert data.spec.source_vocab[3] == " "


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"num_train": 5000},
            "num_train + num_validation + num_test is 5050, but the years 2018 to 2021 make only "
            "1461 different examples: ask for fewer examples or allow more",
        ),
        (
            {"first_year": 2022},
            "first_year and last_year must be within 1000 to 9999, the first not after the last, "
            "got 2022 and 2021",
        ),
        (
            {"first_year": 1600},
            "first_year to last_year must be at most 400 years, because every text of every date "
            "is checked, got 1600 to 2021",
        ),
    ],
)
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        build(**settings)


def test_without_babel_one_sentence_says_how_to_get_it(refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "babel", None)
    assert refused("data=dates") == (
        "attnexp: data=dates needs the package babel: pip install 'attnexp[dates]'\n"
    )
