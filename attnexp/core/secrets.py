"""The secrets that this process was given, and text without them."""

import re
from urllib.parse import quote

MASK = "***"
"""The text that is written in place of a secret."""

SHORTEST = 6
"""Characters of the shortest value that is looked for in other text."""

LONG = 8
"""Characters of a value that is replaced inside words too; a shorter one is a word of its own."""

_USER = re.compile(r"((?:://|(?<![\w/]))[\w.+%~-]*:)(?!//)([^\s/'\"@][^\s/'\"]*)(?=@[\w\[])")
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


def redacted(text: str) -> str:
    """Return text with MASK in place of learned secrets, and of passwords as `user:password@`."""
    for secret in sorted(_known, key=len, reverse=True):
        text = _known[secret].sub(MASK, text)
    return without_passwords(text) if "@" in text else text


def without_passwords(text: str) -> str:
    """Return text with MASK in place of the passwords in `user:password@host`, and learn them."""

    def mask(found: re.Match[str]) -> str:
        if found[2] == MASK or found[2].startswith("${"):
            return found[0]
        learn(found[2])
        return found[1] + MASK

    return _USER.sub(mask, text)
