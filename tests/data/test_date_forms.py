import re

import pytest

from attnexp.data.date_forms import date_forms

YEARS = range(2018, 2022)


def test_a_form_is_the_pieces_of_its_pattern():
    (form,) = date_forms(["de"], ["EEE, dd.MMMM yy"], YEARS)
    parts = " ".join(piece.part for piece in form.pieces)
    assert parts == "weekday literal day literal month literal year"
    weekday, comma, day, dot, month, space, year = (piece.texts for piece in form.pieces)
    assert (comma, dot, space) == ((", ",), (".",), (" ",))
    assert weekday == ("Mo.", "Di.", "Mi.", "Do.", "Fr.", "Sa.", "So.")
    assert day == tuple(f"{number:02}" for number in range(1, 32))
    assert month[2] == "März"
    assert len(month) == 12
    assert year == ("18", "19", "20", "21")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"locales": []}, "locales and formats must not be empty, got [], ['short']"),
        (
            {"locales": ["de", "?"]},
            "unknown locale '?': choose one of CLDR's, such as de, en_GB, zh_Hant",
        ),
        (
            {"formats": ["shrt"]},
            "format 'shrt' of locale de has the field 's': choose one of short, medium, long, full "
            "or a pattern of the fields y, M, L, d, E, c",
        ),
        (
            {"formats": ["d MMMM"]},
            "a format must have one year, one month and one day, as in 'd MMMM y', got 'd MMMM' of "
            "locale de, which is 'd MMMM'",
        ),
        (
            {"formats": ["ddd MMM y"]},
            "format 'ddd MMM y' of locale de cannot be written: Invalid length for field: 'ddd'",
        ),
    ],
)
def test_settings_that_cannot_work(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        date_forms(**{"locales": ["de"], "formats": ["short"], "years": YEARS} | settings)


def test_an_unknown_locale_is_answered_with_the_nearest():
    with pytest.raises(ValueError, match=r"unknown locale 'en-GB': choose .*, such as en_GB,"):
        date_forms(["en-GB"], ["short"], YEARS)
