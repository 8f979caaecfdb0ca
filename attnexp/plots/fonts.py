"""Installed fonts for letters that DejaVu Sans, which comes with matplotlib, does not have."""

import unicodedata
from contextlib import suppress
from functools import cache

from matplotlib import font_manager

BASE = "DejaVu Sans"

NO_LETTERS = "Last Resort"
"""The start of the name of a font whose letters are boxes."""


def families(text: str) -> list[str]:
    """Return the font families in which to draw a text: DejaVu Sans, and others for the rest."""
    own = _letters(font_manager.findfont(BASE))
    others = (family_with(letter) for letter in text if ord(letter) not in own)
    return list(dict.fromkeys([BASE, *filter(None, others)]))


def lacking(text: str) -> str:
    """Return the letters of a text that no installed font has, each once and in order."""
    own = _letters(font_manager.findfont(BASE))
    seen = sorted({letter for letter in text if not letter.isspace()})
    return "".join(each for each in seen if ord(each) not in own and family_with(each) is None)


@cache
def family_with(letter: str) -> str | None:
    """Return an installed font family that has a letter, None where there is none."""
    fonts = _installed()
    return next((name for name, path in fonts if ord(letter) in _letters(path)), None)


def advice(letters: str) -> str:
    """Return the sentence that says which letters cannot be drawn, and what to install."""
    scripts = list(dict.fromkeys(_script(letter) for letter in letters))
    fonts = dict.fromkeys(f"Noto Sans {EAST_ASIAN.get(each, each)}" for each in scripts)
    return (
        f"no installed font has {_shortened(letters)} ({', '.join(scripts)}), drawn as boxes: "
        f"install one that does, such as {' and '.join(fonts)}"
    )


EAST_ASIAN = dict.fromkeys(("CJK", "Hiragana", "Katakana", "Hangul", "Bopomofo"), "CJK")
"""Scripts that one font has together."""


def _script(letter: str) -> str:
    word = unicodedata.name(letter, "Symbols").split()[0]
    return word if word == "CJK" else word.capitalize()


def _shortened(letters: str, most: int = 10) -> str:
    return letters if len(letters) <= most else f"{letters[:most]}..."


@cache
def _letters(path: str) -> frozenset[int]:
    """Return the code points of the letters that a font file has."""
    return frozenset(font_manager.get_font(path).get_charmap())


@cache
def _installed() -> list[tuple[str, str]]:
    """Return family and file of the upright fonts of regular weight, those without serifs first.

    matplotlib keeps a list of fonts from when it ran first; fonts installed since are added.
    """
    manager = font_manager.fontManager
    known = {font.fname for font in manager.ttflist}
    for path in sorted(set(font_manager.findSystemFonts()) - known):
        with suppress(OSError, RuntimeError, UnicodeError):  # matplotlib cannot use such a font
            manager.addfont(path)
    upright = {
        (font.name, font.fname)
        for font in manager.ttflist
        if font.style == "normal" and font.weight in (400, "normal", "regular")
    }
    usable = (font for font in upright if not font[0].startswith(NO_LETTERS))
    return sorted(usable, key=lambda font: ("Sans" not in font[0], font))
