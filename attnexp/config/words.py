"""The words of a command line as Hydra's grammar reads them.

Outside of quotes the grammar knows a-z, A-Z, 0-9 and a few signs. Other text needs quotes that the
shell leaves in place, which nobody expects of `data.path=été.csv`.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from hydra.core.override_parser.overrides_parser import OverridesParser, create_functions
from hydra.core.override_parser.types import Quote, QuotedString
from hydra.errors import HydraException

BLANK = " \t"
"""The characters that the grammar ignores around a value."""

CLOSING = {"(": ")", "[": "]", "{": "}"}
"""The bracket that closes each bracket."""

PIECE = re.compile(r"\$\{[^}]+\}|\\[\\()\[\]{}:=, \t]|.", re.DOTALL)
"""An interpolation, an escaped character, or a character."""

QUOTED = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)

CALL = re.compile(r"([A-Za-z_][\w-]*)([ \t]*)\((.*)\)", re.ASCII | re.DOTALL)

ARGUMENT = re.compile(r"([ \t]*(?:[A-Za-z_][\w-]*[ \t]*=)?)(.*)", re.ASCII | re.DOTALL)

FUNCTIONS = create_functions()


@lru_cache(maxsize=4096)
def readable(word: str) -> str:
    """Return a setting with quotes around each plain value that the grammar cannot read.

    A setting that it can read stays as it is, and so does one with several meanings or none: a
    bracket or a quote that is not closed, or another setting in the same word.
    """
    name, sign, value = word.partition("=")
    if not sign or _is_readable(word):
        return word
    try:
        found = f"{name}={_plain(value) if _has_equals(value) else _elements(value)}"
    except _UnclearError:
        return word
    return found if _is_readable(found) else word


def closed(word: str) -> str:
    """Return a word with the brackets closed that it leaves open, if it is a setting then."""
    expected: list[str] = []
    for piece in PIECE.findall(QUOTED.sub("", word)):
        if piece in CLOSING:
            expected.append(CLOSING[piece])
        elif piece in CLOSING.values() and (not expected or expected.pop() != piece):
            return word
    whole = word + "".join(reversed(expected))
    return whole if _is_readable(whole) else word


class _UnclearError(Exception):
    """A value has several meanings or none."""


def _is_readable(word: str) -> bool:
    try:
        OverridesParser(FUNCTIONS).parse_override(word)
    except HydraException:
        return False
    return True


def _has_equals(value: str) -> bool:
    """Return whether a value is one plain text with equals signs, such as `runs/lr=0.1`."""
    signs = "".join(piece for piece in PIECE.findall(value) if len(piece) == 1)
    return "=" in signs and not re.search(r"\s.*=|[\[\](){},]|^['\"]", signs.strip(BLANK))


def _elements(text: str) -> str:
    return ",".join(map(_element, _split(text, ",")))


def _element(text: str) -> str:
    """Return one value as the grammar reads it. Raises _UnclearError if it is not plain text."""
    if _is_readable(f"name={text}"):
        return text
    bare = text.strip(BLANK)
    if bare[0] == "[" and bare[-1] == "]":
        return f"[{_elements(bare[1:-1])}]"
    if bare[0] == "{" and bare[-1] == "}":
        return f"{{{','.join(map(_pair, _split(bare[1:-1], ',')))}}}"
    call = CALL.fullmatch(bare)
    if call and (call[1] in FUNCTIONS.definitions or not call[2]):  # `speed (m/s)` is none
        return f"{call[1]}({','.join(map(_argument, _split(call[3], ',')))})"
    if bare[0] in {*"'\"", *CLOSING} or "=" in PIECE.findall(bare):
        raise _UnclearError
    return _plain(text)


def _pair(text: str) -> str:
    key, *value = _split(text, ":")
    return f"{key}:{_element(':'.join(value))}"


def _argument(text: str) -> str:
    found = ARGUMENT.fullmatch(text)
    assert found is not None
    return found[1] + _element(found[2])


def _plain(text: str) -> str:
    """Return plain text in quotes, in which no character is escaped."""
    pieces = PIECE.findall(text.lstrip(BLANK))
    while pieces[-1] in BLANK:
        pieces.pop()
    shown = (piece[1:] if piece[0] == "\\" and len(piece) > 1 else piece for piece in pieces)
    return QuotedString("".join(shown), Quote.single).with_quotes()


def _split(text: str, separator: str) -> Iterator[str]:
    """Yield the parts of a text between separators outside of brackets and quotes.

    A quote begins a value; elsewhere it is an apostrophe. Raises _UnclearError for brackets that do
    not match.
    """
    part, place, expected = "", 0, [""]
    while place < len(text):
        begins = part.rstrip(BLANK)[-1:] in {"", *",:=", *CLOSING}
        found = (QUOTED.match(text, place) if begins else None) or PIECE.match(text, place)
        assert found is not None
        piece, place = found[0], found.end()
        if piece == separator and len(expected) == 1:
            yield part
            part = ""
            continue
        if piece in CLOSING:
            expected.append(CLOSING[piece])
        elif piece in CLOSING.values() and expected.pop() != piece:
            raise _UnclearError
        part += piece
    if len(expected) > 1:
        raise _UnclearError
    yield part
