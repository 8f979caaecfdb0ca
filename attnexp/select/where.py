"""The language of --where, a test that runs have to fit.

    test   = both, or both, or ...
    both   = single, and single, and ...
    single = not single | (test) | name sign value | name in [value, ...] | name not in [value, ...]
    name   = a setting, or a number as `select.number` names it; in quotes if it has an = sign
    sign   = | != | < | <= | > | >=
    value  = a number, true, false, null, a word, or text in quotes

Nothing else is evaluated. Errors say what was expected where, and the depth is bounded before
anything recurses.
"""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnexp.core.errors import RequestError, nearest_text
from attnexp.select.frame import Frame
from attnexp.select.names import resolve_name
from attnexp.select.number import with_numbers

Mask = NDArray[np.bool_]

DEEPEST = 50
"""How deeply brackets and `not` may be nested."""

ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
NUMBERS = (int, float)
KEYWORDS = ("and", "or", "not", "in")
CONSTANTS = {"true": True, "false": False, "null": None}

TOKEN = re.compile(
    r"""(?P<quoted>"[^"]*"|'[^']*')
      | (?P<sign>!=|<=|>=|==|=|<|>)
      | (?P<mark>[()\[\],])
      | (?P<word>[^\s()\[\],=!<>"']+)
      | (?P<unknown>\S)""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A token: its kind, its text, and its place in the test."""

    kind: str
    text: str
    place: int


def fitting(frame: Frame, test: str | None) -> Frame:
    """Return the frame of the runs that fit a test, all for None.

    Raises RequestError if none does, with the value nearest to an unknown one, and as `matching`.
    """
    if test is None:
        return frame
    fits = matching(frame, test)
    if fits.any():
        return frame.only(fits)
    values = {str(value) for name in frame.choices for value in frame.data[name]}
    known = values.union(frame.data)
    asked = [token.text for token in tokens(test) if token.kind in ("word", "quoted")]
    near = "".join(nearest_text(text, values) for text in asked if text not in known)
    raise RequestError(f"none of the {len(frame)} runs fits {test}.{near}".removesuffix("."))


def matching(frame: Frame, test: str) -> Mask:
    """Return which runs fit a test.

    Numbers are compared as numbers and text as text. A setting or number that a run lacks equals
    only null.

    Raises RequestError with the error in the test and its place.
    """
    return _Reader(frame, test).whole()


def tokens(test: str) -> list[Token]:
    """Return the tokens of a test. Raises RequestError for a character that belongs to none."""
    found = []
    for match in TOKEN.finditer(test):
        kind, text, place = str(match.lastgroup), match.group(), match.start()
        if kind == "unknown":
            raise RequestError(f'--where: "{test[place:]}" is not understood')
        if kind == "word" and text.lower() in KEYWORDS:
            kind, text = "key", text.lower()
        found.append(Token(kind, text[1:-1] if kind == "quoted" else text, place))
    return found


class _Reader:
    """A recursive-descent parser of one test."""

    def __init__(self, frame: Frame, test: str) -> None:
        self._frame = frame
        self._test = test
        self._tokens = tokens(test)
        self._next = 0

    def whole(self) -> Mask:
        fits = self._either(0)
        if self._next < len(self._tokens):
            raise self._expected("'and', 'or' or the end")
        return fits

    def _either(self, depth: int) -> Mask:
        fits = self._both(depth)
        while self._take("key", "or"):
            fits = fits | self._both(depth)
        return fits

    def _both(self, depth: int) -> Mask:
        fits = self._single(depth)
        while self._take("key", "and"):
            fits = fits & self._single(depth)
        return fits

    def _single(self, depth: int) -> Mask:
        if depth > DEEPEST:
            raise RequestError(f"--where: more than {DEEPEST} brackets or 'not' in one another")
        if self._take("key", "not"):
            return ~self._single(depth + 1)
        if self._take("mark", "("):
            fits = self._either(depth + 1)
            self._require("mark", ")", "')'")
            return fits
        return self._comparison()

    def _comparison(self) -> Mask:
        name = self._operand("a setting or a number").text
        frame = with_numbers(self._frame, [name])
        cells = frame.data[resolve_name(name, frame.names)].tolist()
        if self._take("key", "not"):
            self._require("key", "in", "'in'")
            return ~self._among(cells)
        if self._take("key", "in"):
            return self._among(cells)
        sign = self._require("sign", None, f"=, !=, <, <=, >, >= or 'in' after '{name}'").text
        value = self._operand("a value")
        if sign in ORDERS:
            return _in_order(cells, ORDERS[sign], _meaning(value))
        if self._take("mark", ","):
            raise self._several(name, "not in" if sign == "!=" else "in", value)
        same = _equal(cells, value)
        return ~same if sign == "!=" else same

    def _among(self, cells: list[Any]) -> Mask:
        self._require("mark", "[", "'[' after 'in'")
        fits = _equal(cells, self._operand("a value"))
        while self._take("mark", ","):
            fits = fits | _equal(cells, self._operand("a value"))
        self._require("mark", "]", "',' or ']'")
        return fits

    def _several(self, name: str, among: str, first: Token) -> RequestError:
        """Return the error for several values after a sign, with the form that takes several."""
        values = [first, self._operand("a value")]
        while self._take("mark", ","):
            values.append(self._operand("a value"))
        listed = ", ".join(
            f'"{each.text}"' if each.kind == "quoted" else each.text for each in values
        )
        return RequestError(f"--where: for several values, write {name} {among} [{listed}]")

    def _operand(self, what: str) -> Token:
        return self._take("word") or self._require("quoted", None, what)

    def _require(self, kind: str, text: str | None, what: str) -> Token:
        token = self._take(kind, text)
        if token is None:
            raise self._expected(what)
        return token

    def _take(self, kind: str, text: str | None = None) -> Token | None:
        if self._next < len(self._tokens):
            token = self._tokens[self._next]
            if token.kind == kind and text in (None, token.text):
                self._next += 1
                return token
        return None

    def _expected(self, what: str) -> RequestError:
        if self._next == len(self._tokens):
            return RequestError(f'--where: expected {what} at the end of "{self._test}"')
        there = self._test[self._tokens[self._next].place :]
        return RequestError(f'--where: expected {what}, not "{there}"')


def _meaning(value: Token) -> Any:
    """Return the number or constant that a word spells; text in quotes is text."""
    if value.kind == "word":
        if value.text.lower() in CONSTANTS:
            return CONSTANTS[value.text.lower()]
        try:
            return float(value.text)
        except ValueError:
            pass
    return value.text


def _equal(cells: list[Any], value: Token) -> Mask:
    """Return which cells equal the value, or are the same text."""
    wanted = _meaning(value)
    if wanted is None:
        return np.array([cell is None or cell != cell for cell in cells], dtype=bool)
    kinds = NUMBERS if isinstance(wanted, float) else (bool,)
    return np.array(
        [cell == value.text or (type(cell) in kinds and cell == wanted) for cell in cells], bool
    )


def _in_order(cells: list[Any], order: Callable[[Any, Any], bool], wanted: Any) -> Mask:
    if not isinstance(wanted, float | str):
        raise RequestError("--where: <, <=, > and >= compare numbers, or text")
    kinds = NUMBERS if isinstance(wanted, float) else (str,)
    return np.array([type(cell) in kinds and order(cell, wanted) for cell in cells], dtype=bool)
