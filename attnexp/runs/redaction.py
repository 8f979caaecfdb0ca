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

_WORD = re.compile(r"([+~]*[\w.@/-]+=)(.*)", re.DOTALL)
"""An override: `name=value`."""

_FLAG = re.compile(r"--?(?!no-)[A-Za-z][\w.-]+")
"""A flag, whose value is the next word."""

_INSIDE = re.compile(
    rf"""(?:(?P<quote>\\?["'])|(?P<mark>[;?&])\s*|(?<![\w.@/-]))
    (?:(?P<flag>{_FLAG.pattern})(?:(?P<shut>\\?["']),?\s*|\s+|,(?=\S))(?!\\?["']?-)
    |(?P<name>[\w.@/-]+)(?P<closed>\\?["'])?[ \t]*(?:=|:(?!//))(?P<space>[ \t]*)
    |(?P<bearer>bearer)[ \t]+(?=\S*\d)(?=[^\s'"]{{16}}))""",
    re.VERBOSE | re.IGNORECASE,
)
"""The name of a setting within other text, up to its value: `name=`, `"name": ` or `--name `."""

_SCHEME = re.compile(r"(bearer|basic|token|digest|api-?key|jwt)[ \t]+(?=\S)", re.IGNORECASE)
"""The word before the secret in the value of a header."""

_PORT = re.compile(r"\d{1,5}")
"""The port of a host, as in `auth.example.com:443`."""

_ENDS = {
    ";": re.compile(r"[^;\n'\"]*"),
    "?": re.compile(r"[^&#\s'\"]*"),
    "&": re.compile(r"[^&#\s'\"]*"),
    "": re.compile(r"[^\s'\"\]})]*(?<!,)"),
    " ": re.compile(r"(?:[^,\]})\n'\"]|,(?!\s|$))*"),
    "digest": re.compile(r"(?:\w+=(?:\\?\"[^\"]*\"|[^\s,'\"]*)(?:,\s*)?)*"),
}
"""The value after a mark before its name, after `name=`, after `name: `, and in a header."""


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
        flags = [None, *settings]
        return [
            masked(value, secret or _belongs(value, flag))
            for flag, value in zip(flags, settings, strict=False)
        ]
    if secret:
        return settings if settings is None or isinstance(settings, bool) else _mask(str(settings))
    return _masked_text(settings) if isinstance(settings, str) else settings


def _masked_text(text: str) -> str:
    word = _WORD.fullmatch(text)
    if word and is_secret(word[1].rstrip("=").rpartition("/")[2], word[2]):
        return word[1] + _mask(word[2])
    text = _masked_inside(text)
    learn_passwords(text)
    return redacted(text)


def _belongs(value: object, flag: object) -> bool:
    """Return whether a word is a secret by the flag before it."""
    return (
        isinstance(flag, str)
        and _FLAG.fullmatch(flag) is not None
        and not str(value).startswith("-")
        and is_secret(flag.lstrip("-"), value)
    )


def _masked_inside(text: str) -> str:
    """Return text with MASK in place of the secrets among the settings within it."""
    parts, done, at = [], 0, 0
    while found := _INSIDE.search(text, at):
        at = found.end()
        full = (found["name"] or found["flag"] or found["bearer"]).lstrip("-")
        name = full.rpartition("/")[2]
        if full.startswith("//") or not is_secret(name):  # the host of an address is no setting
            continue
        start, end = _value_within(text, found, name)
        value = text[start:end]
        is_port = not found["space"] and "." in name and _PORT.fullmatch(value.partition("/")[0])
        if is_secret(name, value) and not (is_port and not is_secret(name.rpartition(".")[2])):
            parts += [text[done:start], _mask(value)]
            done = at = end
    return "".join([*parts, text[done:]])


def _value_within(text: str, found: re.Match[str], name: str) -> tuple[int, int]:
    """Return where the value of a setting within text begins and ends, without its quotes."""
    start = found.end()
    quote = None if found["closed"] or found["shut"] else found["quote"]
    own = re.compile(r"\\?[\"']").match(text, start)
    if own and own[0] != quote:
        start, quote = own.end(), own[0]
    kind = found["mark"] or (" " if found["space"] else "")
    scheme = _SCHEME.match(text, start) if re.search("auth|bearer|token", name, re.I) else None
    if scheme:
        start, kind = scheme.end(), "digest" if scheme[1].lower() == "digest" else ""
    if quote:
        last = re.compile(rf"(?<!\\){re.escape(quote)}").search(text, start)
        return start, last.start() if last else len(text)
    if text[start : start + 1] in ("[", "{", "("):
        return start, _closed(text, start)
    ended = _ENDS[kind].match(text, start)
    return start, ended.end() if ended else start


def _closed(text: str, start: int) -> int:
    """Return where the group that begins at `start` ends."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] in "[{(") - (text[place] in ")}]")
        if depth == 0:
            return place + 1
    return len(text)


def _mask(value: str) -> str:
    if not value or re.fullmatch(r"\$\{.*\}?", value, re.DOTALL):
        return value
    if MASK not in value:
        learn(value.strip("'\""))
    return MASK
