"""Fonts for characters that the fonts of a text lack, found by the characters that they have."""

import re
from collections.abc import Collection
from contextlib import suppress
from functools import cache

from matplotlib.figure import Figure
from matplotlib.font_manager import (
    FontEntry,
    FontProperties,
    findfont,
    findSystemFonts,
    fontManager,
    get_font,
)
from matplotlib.text import Text

SANS = re.compile(r"sans|gothi|hei|pingfang|meiryo|arial", re.IGNORECASE)

OTHERS = re.compile(r"mono|condensed|light|thin|black|bold", re.IGNORECASE)
"""Parts of names of fonts that are tried last."""

BOXES = re.compile(r"last ?resort", re.IGNORECASE)
"""The names of fonts that have a box for every character."""

REGULAR = (400, "normal", "regular", "book")
"""The weights of ordinary text in matplotlib's list of fonts."""


def add_fonts(figure: Figure) -> None:
    """Give each text of a figure installed fonts for the characters that its own fonts lack."""
    for axes in figure.axes:
        axes.get_xticklabels(), axes.get_yticklabels()  # brings the labels of ticks up to date
    texts = [text for text in figure.findobj(Text) if not text.get_text().isascii()]
    lacking = {text: _lacking(text) for text in texts}
    found = fonts_with(frozenset().union(*lacking.values()))
    for text in texts:
        if lacking[text] and found:
            text.set_fontfamily([*text.get_fontfamily(), *found])


def fonts_with(characters: Collection[str]) -> list[str]:
    """Return the names of installed fonts that together have most of the characters.

    If one font has all of them, it is the only one; fonts without serifs come first. If
    matplotlib's list has no font for a character, fonts that were installed after the list was made
    are added.
    """
    names, left = _found(characters)
    return _found(characters)[0] if left and add_installed() else names


@cache
def add_installed() -> bool:
    """Add installed fonts that matplotlib's list lacks, and return whether there were any.

    This is done once per process.
    """
    before = len(fontManager.ttflist)
    known = {entry.fname for entry in fontManager.ttflist}
    for path in sorted({*findSystemFonts()} - known):
        with suppress(Exception):  # as matplotlib does: a file may hold anything
            fontManager.addfont(path)
    return len(fontManager.ttflist) > before


def _found(characters: Collection[str]) -> tuple[list[str], set[str]]:
    """Return fonts of matplotlib's list with most of the characters, and those that none has."""
    left = set(characters)
    shares = []
    for entry in sorted(fontManager.ttflist, key=_rank) if left else ():
        own = set[str]() if BOXES.search(entry.name) else left & _characters(entry.fname)
        shares.append((entry.name, own))
        if own == left:
            return [entry.name], set()
    names: list[str] = []
    for name, own in sorted(shares, key=lambda share: -len(share[1])):
        if own & left:
            names.append(name)
            left -= own
    return names, left


def _rank(entry: FontEntry) -> tuple[bool, ...]:
    """Return the key by which fonts are sorted: regular, without serifs and ordinary ones first."""
    return (
        entry.style != "normal",
        entry.weight not in REGULAR,
        not SANS.search(entry.name),
        bool(OTHERS.search(entry.name)),
    )


def _lacking(text: Text) -> set[str]:
    """Return the printed characters of a text that none of its fonts has."""
    files = (findfont(FontProperties(family=[name])) for name in text.get_fontfamily())
    beyond = {each for each in text.get_text() if not each.isascii() and each.isprintable()}
    return beyond.difference(*map(_characters, files))


@cache
def _characters(file: str) -> frozenset[str]:
    """Return the characters that a font file has, none if it cannot be read."""
    try:
        return frozenset(map(chr, get_font(file).get_charmap()))
    except (OSError, RuntimeError):
        return frozenset()
