"""Secrets among settings. They are refused, as a run's folder is for others to read."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from attnexp.core.errors import RequestError
from attnexp.runs.settings import clean

MASK = "***"
"""The text that runs of earlier versions of attnexp hold in place of a secret."""

NAME = re.compile(
    r".*(passw(or)?d|secret|api_?key|(access|private)_key|(auth|access)_token|credentials)|token",
    re.IGNORECASE,
)
"""The last parts of names by which a setting counts as a secret."""

PASSWORD = re.compile(r"//[^\s/:@]*:(?!\d*/|\$\{oc\.env:\w+\}@)[^\s@]+@")
"""A password in an address, as in `//user:password@`, but no variable of the environment."""

REFERENCE = re.compile(r"\$\{oc\.env:\w+\}|\$\{[\w.]+\}|\$\{oc\.decode:\}")
"""What is not text of a value: `${oc.env:NAME}`, another setting, and what is left around these."""

WORD = re.compile(r"[+~]*([\w.@/-]+)=(.*)", re.DOTALL)
"""A setting as a word of a command line."""


def is_secret(name: str) -> bool:
    """Return whether a setting is a secret, by the last part of its dotted name."""
    last = re.split(r"[./]", name)[-1].replace("-", "_")
    return NAME.fullmatch(last) is not None


def holds_mask(value: object) -> bool:
    """Return whether a setting holds the mask of a secret, by itself or as a part."""
    return isinstance(value, str | list) and MASK in str(value)


def why_not_stored(name: str, value: object = None) -> str | None:
    """Return why a setting of another program is not stored, None if it may be."""
    if is_secret(name):
        return f"'{clean(name)}' has the name of a secret, which a run does not store"
    if isinstance(value, str) and PASSWORD.search(value):
        return f"'{clean(name)}' is an address with a password, which a run does not store"
    return None


def require_no_secret(settings: Mapping[str, Any]) -> None:
    """Raise RequestError for a secret among nested settings that are not yet resolved.

    A secret is text under a secret's name, in lists and groups too, or an address with a password.
    Interpolations such as `${oc.env:NAME}` are no text.
    """
    for name, value in settings.items():
        _check(str(name), value, is_secret(str(name)))


def require_no_secret_typed(words: Iterable[str]) -> None:
    """Raise RequestError for a secret among the settings of a command line."""
    for word in words:
        if found := WORD.fullmatch(word):
            _check(found[1], found[2].strip("'\""), is_secret(found[1]))


def _check(path: str, value: Any, secret: bool) -> None:
    if isinstance(value, Mapping):
        for name, inside in value.items():
            if name != "_target_":
                _check(f"{path}.{name}", inside, secret or is_secret(str(name)))
    elif isinstance(value, list):
        for inside in value:
            _check(path, inside, secret)
    elif isinstance(value, str):
        form = f"give it as {path}='${{oc.env:VARIABLE}}', and set VARIABLE in the environment"
        if path.startswith("hydra.job.env_set."):
            form = "set the variable in the environment of the command"
        elif path.startswith("tracker."):
            form += ", or log in with the tool's own command"
        what = "is a secret" if secret and _is_text(value) else None
        if PASSWORD.search(value):
            what = "is an address with a password"
        if what is not None:
            raise RequestError(f"{path} {what}, and a run writes its settings down: {form}")


def _is_text(value: str) -> bool:
    """Return whether a value has text besides references."""
    left = REFERENCE.sub("", REFERENCE.sub("", value))
    return left.strip() not in ("", "null", "???")
