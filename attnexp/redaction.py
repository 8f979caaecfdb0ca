"""What is written in place of secrets, and of values that come from the environment.

A process remembers both as it meets them, so that they can be left out of any text. A setting is a
secret by its name, as `api_key`; a word is one by its form, as `ghp_...`.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

MASK = "***"
"""What is written in place of a secret."""

LEAST = 6
"""Letters from which on a value is left out of texts: shorter ones occur in other words."""

_NAME = re.compile(
    r"passw(or)?d|passphrase|secret|credential|(api|access|private)[_-]?key|token$", re.IGNORECASE
)
"""The names of settings that are secrets."""

_SYMBOL = re.compile(
    r"(bos|eos|pad|mask|unk|sep|cls|start|stop|begin|end|sink|special|blank)[_-]?token$",
    re.IGNORECASE,
)
"""The names of settings that are tokens of a language, and no secrets."""

_FORM = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"hf_\w{16,}|gh[opusr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|sk-[\w-]{16,}"
    r"|xox[abprs]-[\w-]{10,}|A[KS]IA[A-Z0-9]{16}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]+)"
    r"|(?<=://)[^\s/:]*:[^\s/]+(?=@)"
)
"""Keys of known services, and the user and password in an address."""

_WITHIN = re.compile(r"([\w.@/-]+)=([^\s'\"\]]*)")
"""A setting and its values in the text of another."""

_INTERPOLATION = re.compile(r"\$\{.*\}", re.DOTALL)

_secrets: set[str] = set()
_variables: dict[str, str] = {}


class FromEnvironment(str):
    """Text that comes from the environment; `written` names the variables in place of values."""

    written: str

    def __new__(cls, value: str, written: str = "") -> "FromEnvironment":
        new = super().__new__(cls, value)
        new.written = written
        return new


def remember_variable(name: str, value: str) -> None:
    """Remember the value of an environment variable that settings refer to."""
    if value:
        _variables[value] = f"${{oc.env:{name}}}"


def remember_secrets(settings: Any, name: str = "") -> None:
    """Remember the values in nested settings that are secrets by their names."""
    if isinstance(settings, Mapping):
        for key, value in settings.items():
            remember_secrets(value, name if is_secret(name) else str(key))
    elif isinstance(settings, list | tuple):
        for value in settings:
            remember_secrets(value, name)
    elif is_secret(name) and _is_value(settings) and len(str(settings)) >= LEAST:
        _secrets.update({str(settings), repr(str(settings))[1:-1]})


def remember_words(words: Sequence[str]) -> None:
    """Remember the values in `name=value` words that are secrets.

    There may be several, as in `name=value,value`, and words within, as in `tune=["name=value"]`.
    """
    for word in words:
        name, _, values = word.partition("=")
        remember_secrets([values, *_values(values)], name)
        for inner, own in _WITHIN.findall(values):
            remember_secrets(_values(own), inner)


def _values(text: str) -> list[str]:
    """Return the values that a text lists, as in `a,b` and `choice(a,b)`."""
    return re.split(r"[\s,()\[\]'\"]+", re.sub(r"\w+\(", "", text))


@lru_cache(maxsize=4096)
def is_secret(name: str) -> bool:
    """Return whether the value of a setting is a secret by the setting's name."""
    own = name.rpartition(".")[2]
    return bool(_NAME.search(own)) and not _SYMBOL.search(own)


def _is_value(value: object) -> bool:
    """Return whether a setting has a value of its own: it is no reference and no switch."""
    if isinstance(value, str):
        return value not in ("", MASK) and not _INTERPOLATION.fullmatch(value)
    return value is not None and not isinstance(value, bool)


def from_environment(value: str) -> str:
    """Return text that an interpolation has made, which knows what to write in its place."""
    written = _replaced(value, _variables)
    return value if written == value else FromEnvironment(value, written)


def knows_variables() -> bool:
    """Return whether any setting has referred to the environment."""
    return bool(_variables)


def remembered() -> frozenset[tuple[str, str]]:
    """Return each value that texts leave out with what is written for it, as `redacted` depends on.

    A text that was redacted before stays so while this is the same.
    """
    return frozenset((_variables | dict.fromkeys(_secrets, MASK)).items())


def is_masked(settings: Any) -> bool:
    """Return whether nested settings hold MASK, but for values that the environment has."""
    if isinstance(settings, Mapping):
        return any(map(is_masked, settings.values()))
    if isinstance(settings, list | tuple):
        return any(map(is_masked, settings))
    if isinstance(settings, FromEnvironment):
        return False
    return isinstance(settings, str) and MASK in settings


def recorded(settings: Any, secret: bool = False) -> Any:
    """Return nested settings, or words of a command line, as they are written."""
    if isinstance(settings, Mapping):
        return {
            str(name): recorded(value, secret or is_secret(str(name)))
            for name, value in settings.items()
        }
    if isinstance(settings, list | tuple):
        return [recorded(value, secret) for value in settings]
    if isinstance(settings, FromEnvironment):
        return settings.written
    if secret and _is_value(settings):
        return MASK
    return _recorded_text(settings) if isinstance(settings, str) else settings


def _recorded_text(text: str) -> str:
    """Return text without secrets: by their form, by the name in `name=value`, or remembered."""
    name, sign, value = text.partition("=")
    if sign and re.fullmatch(r"[+~]*[\w.@/-]+", name) and is_secret(name) and _is_value(value):
        return f"{name}={MASK}"
    return _FORM.sub(MASK, _replaced(text, dict.fromkeys(_secrets, MASK)))


def redacted(text: str) -> str:
    """Return a message without secrets and values from the environment."""
    long = {value: name for value, name in _variables.items() if len(value) >= LEAST}
    return _FORM.sub(MASK, _replaced(text, long | dict.fromkeys(_secrets, MASK)))


def _replaced(text: str, instead: Mapping[str, str]) -> str:
    """Return text with other words in place of some, the longest first."""
    there = sorted((value for value in instead if value in text), key=len, reverse=True)
    if not there:
        return text
    return re.sub("|".join(map(re.escape, there)), lambda found: instead[found[0]], text)
