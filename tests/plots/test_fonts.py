"""Letters that DejaVu Sans lacks are drawn in a font that is installed, or named in a sentence."""

import numpy as np
import pytest
from matplotlib import font_manager

from attnexp.plots import fonts, style
from attnexp.plots.heatmap_grid import draw_grid
from attnexp.runs.attention_maps import Axis, Map

CIRCLED, CHINESE = "\N{CIRCLED LATIN CAPITAL LETTER A}", "\N{CJK UNIFIED IDEOGRAPH-4E2D}"
"""The first is in a font that comes with matplotlib, the second in none of them."""


@pytest.fixture
def shipped(monkeypatch):
    """Nothing is installed but the fonts that come with matplotlib."""
    own = [font for font in font_manager.fontManager.ttflist if "mpl-data" in font.fname]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", own)
    monkeypatch.setattr(font_manager, "findSystemFonts", list)
    caches = (fonts.family_with, fonts._installed, style._tell_lacking)
    for each in caches:
        each.cache_clear()
    yield
    for each in caches:
        each.cache_clear()


def grid(letters):
    side = Axis("source", np.arange(len(letters)), symbols=tuple(letters))
    one = Map(np.eye(len(letters)), side, side)
    return draw_grid([[one]], [""], [""], "title", "")


def test_a_text_in_latin_letters_needs_one_family():
    assert fonts.families("gaussian, width=1 \N{OPEN BOX}\N{MINUS SIGN}") == [fonts.BASE]


@pytest.mark.usefixtures("shipped")
def test_another_installed_family_has_the_letters_that_the_first_lacks(tmp_path, capsys):
    own, other = fonts.families(f"x{CIRCLED}")
    assert own == fonts.BASE
    path = font_manager.findfont(other)
    assert ord(CIRCLED) in font_manager.get_font(path).get_charmap()
    with style.style():
        figure = grid(["a", CIRCLED])
        style.save(figure, [tmp_path / "grid.png"])
    (axes, _) = figure.axes
    assert other in axes.get_xticklabels()[1].get_fontfamily()
    assert not capsys.readouterr().out


@pytest.mark.usefixtures("shipped")
def test_letters_that_no_font_has_are_said_once_with_what_to_install(tmp_path, capsys):
    for _ in range(2):
        with style.style():
            style.save(grid(["a", CHINESE, CIRCLED]), [tmp_path / "grid.png"])
    assert capsys.readouterr().out == (
        f"note: no installed font has {CHINESE} (CJK), drawn as boxes: "
        "install one that does, such as Noto Sans CJK\n"
    )


@pytest.mark.usefixtures("shipped")
def test_a_font_that_was_installed_after_the_list_was_made_is_found(monkeypatch):
    kept = font_manager.fontManager.ttflist
    stix = [font for font in kept if font.name.startswith("STIX")]
    rest = [font for font in kept if font not in stix]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", rest)
    assert fonts.family_with(CIRCLED) is None
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [font.fname for font in stix])
    fonts.family_with.cache_clear()
    fonts._installed.cache_clear()
    assert fonts.family_with(CIRCLED) == "STIXGeneral"


@pytest.mark.parametrize(
    ("letters", "said"),
    [
        (
            "\u3042\u4e2d",
            "(Hiragana, CJK), drawn as boxes: install one that does, such as Noto Sans CJK",
        ),
        ("\u0e01", "(Thai), drawn as boxes: install one that does, such as Noto Sans Thai"),
    ],
)
def test_the_advice_names_scripts_and_fonts(letters, said):
    assert fonts.advice(letters) == f"no installed font has {letters} {said}"
