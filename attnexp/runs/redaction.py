"""Secrets in settings, and the mask that is recorded in their place.

A setting is a secret by its name, such as `api_key`: a run records its value as `***`, and other
text of the process has `***` in its place too, see `attnexp.core.secrets`. A value that comes from
the environment is recorded as the interpolation `${oc.env:NAME}`, see
`attnexp.config.resolved.recorded`.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from attnexp.core.secrets import MASK, learn, learn_passwords, redacted

_NAME = re.compile(
    r"passw(or)?d|passphrase|secret|credential|(api|access|private)[_-]?key|token$"
    r"|(api|access|refresh)[_-]?tokens$"
    r"|(^|[_-])(pwds?|pat|key|pass)$|(?-i:[a-z0-9](Pwds?|Key|Pass|Creds?)$)"
    r"|(^|[_-])(auth|authorization|bearer|creds?)([_-]|$)",
    re.IGNORECASE,
)
"""The names of settings that are secrets."""

_SYMBOL = re.compile(
    r"(bos|eos|pad|mask|unk|sep|cls|start|stop|begin|end|sink|special|blank)[_-]?token$"
    r"|(query|num|n|max|min|per|dim|size|width|bias|scale|norm|share|sort|group)[_-]?key$"
    r"|(num|n|max|min|per|one|two|first|second|last|single|multi|low|high|band|all|by|forward"
    r"|backward)[_-]?pass$",
    re.IGNORECASE,
)
"""The names of settings that are tokens of a language, keys of attention, or passes over data."""

_SIZES = re.compile(r"[{\[(]|[\s\d.,e+-]*$")
"""The beginning of a group or a list, or numbers: no secrets under the name `key` alone."""

_COUNTED = re.compile(r"(pwds|passwords|tokens)$", re.IGNORECASE)
"""The names of secrets that are counts if their values are numbers."""

_COUNTS = re.compile(r"[\[(]?[\s\d.,e+-]*[\])]?")
"""Numbers, or a list of numbers."""

_WORD = re.compile(r"([+~]*[\w.@/-]+=)(.*)", re.DOTALL)
"""An override: `name=value`."""

_INSIDE = re.compile(r"([\w.@/-]+(?:=|:\s*))(?![{\[])([^\s'\"\]})]+(?<!,))")
"""A setting within the text of another: `name=value,value`, or `name: value`."""


def is_secret(name: str, value: object = "secret") -> bool:
    """Return whether the value of a setting is a secret, by any part of its dotted name.

    Sizes and groups of settings under the name `key` alone are not secrets: models have them. Nor
    are numbers under a plural such as `passwords`.
    """
    *groups, last = re.split(r"[^\w-]+", name.rstrip("]"))
    if last == "_target_":
        return False
    if any(_is_secret(group) and group.lower() != "key" for group in groups):
        return True
    numbers = _SIZES.match if last.lower() == "key" else _COUNTS.fullmatch
    counts = last.lower() == "key" or _COUNTED.search(last)
    return _is_secret(last) and not (counts and numbers(str(value)))


@lru_cache(maxsize=4096)
def _is_secret(part: str) -> bool:
    return bool(_NAME.search(part)) and not _SYMBOL.search(part)


def holds_mask(value: object) -> bool:
    """Return whether a setting holds the mask of a secret, by itself or as a part."""
    return isinstance(value, str | list) and MASK in str(value)


def masked(settings: Any, secret: bool = False) -> Any:
    """Return nested settings, or the words of a command line, with MASK in place of secrets.

    Interpolations, null and switches stay. With `secret`, every other value is masked. A masked
    value is learned: `redacted` replaces it in other text.
    """
    if isinstance(settings, Mapping):
        return {
            str(name): (
                value
                if name == "_target_"
                else masked(value, secret or is_secret(str(name), value))
            )
            for name, value in settings.items()
        }
    if isinstance(settings, list | tuple):
        return [masked(value, secret) for value in settings]
    if secret:
        return settings if settings is None or isinstance(settings, bool) else _mask(str(settings))
    return _masked_text(settings) if isinstance(settings, str) else settings


def _masked_text(text: str) -> str:
    word = _WORD.fullmatch(text)
    if word and is_secret(word[1].rstrip("="), word[2]):
        return word[1] + _mask(word[2])
    if "=" in text or ":" in text:
        text = _INSIDE.sub(
            lambda found: (
                found[1] + _mask(found[2])
                if is_secret(found[1].rstrip("=: "), found[2])
                else found[0]
            ),
            text,
        )
    learn_passwords(text)
    return redacted(text)


def _mask(value: str) -> str:
    if not value or re.fullmatch(r"\$\{.*\}?", value, re.DOTALL):
        return value
    if MASK not in value:
        learn(value.strip("'\""))
    return MASK
