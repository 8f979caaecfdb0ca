"""The secrets that this process was given, and text without them."""

import re
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import quote

MASK = "***"

SHORTEST = 6
"""Characters of the shortest value that is looked for in other text."""

LONG = 8
"""Characters of a value that is replaced inside words too; a shorter one is a word of its own."""

_USER = re.compile(
    r"((?:://|(?<![\w/{.]))[\w.+%~-]*:)(?!//|\$\{|\*\*\*@)([^\s/'\"@][^\s/'\"]*)(?=@[\w\[])"
)
"""`user:password@host`, with or without the scheme of a URL."""

_known: dict[str, re.Pattern[str]] = {}
"""The secrets, and the forms in which text may have each."""


def learn(value: str) -> None:
    """Remember a secret: `redacted` replaces it from now on.

    A short value, such as `auto`, is left alone: text that has nothing to do with it has it too.
    """
    for part in {value, *value.splitlines()} - _known.keys():
        if len(part) >= SHORTEST:
            forms = sorted({part, repr(part)[1:-1], quote(part, safe="")}, key=len, reverse=True)
            either = "|".join(map(re.escape, forms))
            pattern = either if len(part) >= LONG else rf"(?<!\w)(?:{either})(?!\w)"
            _known[part] = re.compile(pattern)


def without_learned(text: str) -> str:
    """Return text with MASK in place of learned secrets."""
    for secret in sorted(_known, key=len, reverse=True):
        text = _known[secret].sub(MASK, text)
    return text


def redacted(text: str) -> str:
    """Return text with MASK in place of learned secrets, and of passwords as `user:password@`.

    It learns nothing: the text may be a document, or the message of a library.
    """
    text = without_learned(text)
    return _USER.sub(rf"\g<1>{MASK}", text) if "@" in text else text


def learn_passwords(text: str) -> None:
    """Remember the passwords in a setting as `user:password@host`."""
    for found in _USER.finditer(text) if "@" in text else ():
        learn(found[2])


def hide_in_warnings() -> None:
    """Let Python print the warnings of this process as `redacted` returns them."""
    warnings.formatwarning = partial(_formatted, warnings.formatwarning)


def _formatted(plain: Callable[..., str], *warning: Any, **named: Any) -> str:
    return redacted(plain(*warning, **named))
