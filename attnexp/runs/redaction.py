"""Secrets in settings, and the mask that is recorded in their place.

A setting is a secret by its name, such as `api_key`: a run records its value as `***`. A value that
comes from the environment is recorded as the interpolation `${oc.env:NAME}`, see
`attnexp.config.resolved.recorded`.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

MASK = "***"
"""The text that is recorded in place of a secret."""

_NAME = re.compile(
    r"passw(or)?d|passphrase|secret|credential|(api|access|private)[_-]?key|token$", re.IGNORECASE
)
"""The names of settings that are secrets."""

_SYMBOL = re.compile(
    r"(bos|eos|pad|mask|unk|sep|cls|start|stop|begin|end|sink|special|blank)[_-]?token$",
    re.IGNORECASE,
)
"""The names of settings that are tokens of a language."""

_WORD = re.compile(r"([+~]*[\w.@/-]+=)(.*)", re.DOTALL)
"""An override: `name=value`."""

_INSIDE = re.compile(r"([\w.@/-]+(?:=|:\s*))(?![{\[])([^\s'\"\]})]+(?<!,))")
"""A setting within the text of another: `name=value,value`, or `name: value`."""


@lru_cache(maxsize=4096)
def is_secret(name: str) -> bool:
    """Return whether the value of a setting is a secret, by the last part of its dotted name."""
    last = name.rpartition(".")[2]
    return bool(_NAME.search(last)) and not _SYMBOL.search(last)


def masked(settings: Any, secret: bool = False) -> Any:
    """Return nested settings, or the words of a command line, with MASK in place of secrets.

    Interpolations, null and switches stay. With `secret`, every other value is masked.
    """
    if isinstance(settings, Mapping):
        return {
            str(name): masked(value, secret or is_secret(str(name)))
            for name, value in settings.items()
        }
    if isinstance(settings, list | tuple):
        return [masked(value, secret) for value in settings]
    if secret:
        return settings if settings is None or isinstance(settings, bool) else _mask(str(settings))
    return _masked_text(settings) if isinstance(settings, str) else settings


def _masked_text(text: str) -> str:
    word = _WORD.fullmatch(text)
    if word and is_secret(word[1].rstrip("=")):
        return word[1] + _mask(word[2])
    if "=" not in text and ":" not in text:
        return text
    return _INSIDE.sub(
        lambda found: found[1] + _mask(found[2]) if is_secret(found[1].rstrip("=: ")) else found[0],
        text,
    )


def _mask(value: str) -> str:
    return value if not value or re.fullmatch(r"\$\{.*\}?", value, re.DOTALL) else MASK
