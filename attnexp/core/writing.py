"""How a text is made of symbols: characters, words, or runs of characters between spaces."""

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from attnexp.core.packages import require_package


class Writing(ABC):
    """A way to take a text apart into symbols and to put symbols together as a text."""

    @abstractmethod
    def split(self, text: str) -> list[str]:
        """Return the symbols of a text."""

    @abstractmethod
    def join(self, symbols: Sequence[str]) -> str:
        """Return the text of symbols."""


@dataclass(frozen=True)
class Separated(Writing):
    """Symbols are separated by spaces, or by commas as in "3,1,4"; spaces join them."""

    def split(self, text: str) -> list[str]:
        return text.replace(",", " ").split()

    def join(self, symbols: Sequence[str]) -> str:
        return " ".join(symbols)


SEPARATED = Separated()
"""The writing of data that say nothing else."""


@dataclass(frozen=True)
class Spaced(Separated):
    """Symbols are separated by spaces and may hold commas; spaces join them."""

    def split(self, text: str) -> list[str]:
        return plain(text).split()


@dataclass(frozen=True)
class Characters(Writing):
    """Each character is a symbol, the space too; nothing joins them."""

    def split(self, text: str) -> list[str]:
        return list(unicodedata.normalize("NFC", text))

    def join(self, symbols: Sequence[str]) -> str:
        return "".join(symbols)


@dataclass(frozen=True)
class Words(Writing):
    """Words are symbols, and so is each mark of punctuation; spaces join words.

    A word is a run of letters, their marks and digits, of any script, with apostrophes, hyphens and
    points inside it: "aujourd'hui", "est-il", "3.14". Chinese characters are written without
    spaces, so each is a symbol, and none is put between them; neither are there spaces before marks
    that end something and after those that open it.
    """

    def split(self, text: str) -> list[str]:
        return [symbol for symbol in _compiled(_WORD).findall(plain(text)) if not symbol.isspace()]

    def join(self, symbols: Sequence[str]) -> str:
        text = ""
        for symbol in symbols:
            close = not text or _compiled(_OPENS).search(text) or _compiled(_CLOSES).match(symbol)
            dense = _compiled(_DENSE).search(text[-1:]) and _compiled(_DENSE).match(symbol)
            text += symbol if close or dense else f" {symbol}"
        return text


_LETTERS = r"[[\p{L}\p{M}\p{N}_]--\p{Han}]+"
_WORD = rf"(?V1)\p{{Han}}|{_LETTERS}(?:['\u2019.\-]{_LETTERS})*|\X"
_OPENS = r"[\p{Ps}\p{Pi}¿¡]$"
_CLOSES = r"[\p{Pe}\p{Pf}\p{Terminal_Punctuation}…%]"
_DENSE = r"(?V1)[\p{Han}\p{Hiragana}\p{Katakana}[[\p{ea=W}\p{ea=F}]&&\p{P}]]"
"""Scripts without spaces between words: Chinese and Japanese, their wide punctuation included."""


@cache
def _compiled(pattern: str) -> Any:
    """Return a compiled pattern of the package regex, which only texts of words need.

    Raises RequestError if it is not installed.
    """
    require_package("regex", "attnexp[text]", "a text of words")
    import regex

    return regex.compile(pattern)


def plain(text: str) -> str:
    """Return a text in Unicode's form NFC, one space in place of each white space."""
    return " ".join(unicodedata.normalize("NFC", text).split())
