"""Characters beyond Latin are drawn in any installed font that has them."""

from pathlib import Path

import numpy as np
import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib import TTCollection
from matplotlib.font_manager import fontManager
from matplotlib.image import imread

from attnexp.core.errors import RequestError
from attnexp.plots import fonts, style
from attnexp.plots.fonts import fonts_with
from attnexp.plots.picture_style import check_font
from attnexp.runs.attention import Map, MapAxis

HAN, HANGUL, RUNE = "\u4e00", "\uac00", "\U00013001"


def square():
    """Return a glyph that fills its whole cell."""
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for corner in ((0, 1000), (1000, 1000), (1000, 0)):
        pen.lineTo(corner)
    pen.closePath()
    return pen.glyph()


def font_of(name, characters):
    """Return a font whose characters are black squares, as wide as they are high."""
    codes = [ord(each) for each in characters]
    names = [".notdef", *(f"u{code:x}" for code in codes)]
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap(dict(zip(codes, names[1:], strict=True)))
    builder.setupGlyf({each: square() for each in names})
    builder.setupHorizontalMetrics(dict.fromkeys(names, (1000, 0)))
    builder.setupHorizontalHeader(ascent=1000, descent=0)
    builder.setupNameTable({"familyName": name, "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    return builder.font


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a font with some characters under a name, in matplotlib's list alone.

    Whatever fonts the machine has, the list begins with those of matplotlib.
    """
    own = [font for font in fontManager.ttflist if "mpl-data" in font.fname]
    monkeypatch.setattr(fontManager, "ttflist", own)
    monkeypatch.setattr(fonts, "findSystemFonts", list)
    fonts.add_installed.cache_clear()

    def add(name, characters, suffix="ttf"):
        path = tmp_path / f"{len(fontManager.ttflist)}.{suffix}"
        made = font_of(name, characters)
        if suffix == "ttc":
            made, alone = TTCollection(), made
            made.fonts = [alone, font_of(f"{name} Other", characters)]
        made.save(path)
        fontManager.addfont(path)

    return add


@pytest.mark.parametrize("suffix", ["ttf", "otf", "ttc"])
@pytest.mark.parametrize("name", ["Heavenly Brush 7", "WenQuanYi Zen Hei", "PingFang SC", "SimHei"])
@pytest.mark.parametrize("character", [HAN, HANGUL, RUNE])
def test_a_font_is_found_by_its_characters_and_drawn(
    install, tmp_path, capsys, name, suffix, character
):
    install(name, character, suffix)
    with style.style_context():
        figure = style.new_figure(2, 2, f"a{character}")
        style.save(figure, [tmp_path / "title.png"])
    assert "no installed font" not in capsys.readouterr().out
    dark = imread(tmp_path / "title.png")[..., :3].max(axis=2) < 0.2
    side = int(10.5 / 72 * style.DPI) - 2
    windows = np.lib.stride_tricks.sliding_window_view(dark, (side, side))
    assert windows.all(axis=(2, 3)).any()


def test_labels_of_ticks_are_drawn_in_such_a_font(install, tmp_path, capsys):
    from attnexp.plots.heatmap_grid import draw_grid

    install("Heavenly Brush", HAN + HANGUL + RUNE)
    side = MapAxis("source", np.arange(3), symbols=(HAN, HANGUL, RUNE))
    with style.style_context():
        figure = draw_grid([[Map(np.eye(3), side, side)]], [[""]], [""], "t", "s")
        style.save(figure, [tmp_path / "grid.png"])
    assert "no installed font" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("installed", "chosen"),
    [
        ({"Han Serif": HAN, "Han Sans": HAN}, ["Han Sans"]),
        ({"Han Sans Mono": HAN, "Han Sans": HAN, "Ming": HAN}, ["Han Sans"]),
        ({"Ming": HAN}, ["Ming"]),
        ({"Han Sans": HAN, "Ming": HAN + HANGUL}, ["Ming"]),
        ({"Han Sans": HAN, "Gothic": HANGUL}, ["Gothic", "Han Sans"]),
        ({"Han Sans": HAN}, ["Han Sans"]),
        ({"LastResort": HAN + HANGUL}, []),
        ({}, []),
    ],
)
def test_one_font_with_all_is_before_several_and_sans_before_serif(install, installed, chosen):
    for name, characters in installed.items():
        install(name, characters)
    wanted = set("".join(installed.values())) or {HAN}
    assert sorted(fonts_with(wanted)) == chosen


def test_a_font_that_was_installed_after_the_list_was_made_is_found_once(
    install, tmp_path, monkeypatch, capsys
):
    install("Han Sans", HAN)
    late, broken = tmp_path / "late.ttf", tmp_path / "broken.ttf"
    font_of("Late Sans", HANGUL).save(late)
    broken.write_text("no font")
    looked = []
    monkeypatch.setattr(
        fonts, "findSystemFonts", lambda: looked.append(1) or [str(broken), str(late)]
    )
    assert fonts_with(HAN) == ["Han Sans"]
    assert not looked
    with style.style_context():
        style.save(style.new_figure(2, 2, HANGUL), [tmp_path / "title.png"])
    assert "no installed font" not in capsys.readouterr().out
    assert fonts_with(HANGUL) == ["Late Sans"]
    assert fonts_with(RUNE) == []
    assert len(looked) == 1


def test_such_a_font_can_be_named(install, tmp_path, monkeypatch):
    late = tmp_path / "late.ttf"
    font_of("Late Sans", HANGUL).save(late)
    monkeypatch.setattr(fonts, "findSystemFonts", lambda: [str(late)])
    assert check_font("Late Sans") == "Late Sans"
    with pytest.raises(RequestError, match="Late Sans"):
        check_font("Later Sans")


def test_latin_text_opens_no_font_but_its_own(monkeypatch, tmp_path):
    opened, read = [], fonts._characters
    monkeypatch.setattr(fonts, "_characters", lambda file: opened.append(file) or read(file))
    with style.style_context():
        style.save(style.new_figure(2, 2, "plain"), [tmp_path / "title.png"])
        assert not opened
        style.save(style.new_figure(2, 2, "Größe ± 1, naïve"), [tmp_path / "title.png"])
    assert {Path(file).name for file in opened} == {"DejaVuSans.ttf", "STIXGeneral.ttf"}
