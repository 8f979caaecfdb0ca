"""Common slips in the form of a setting on the command line, and the right form of each."""

import re
from collections.abc import Iterator, Sequence

from attnexp.core.errors import RequestError, shortened_value
from attnexp.runs.redaction import masked
from attnexp.runs.settings import GROUPS

NAME = r"[+~]{0,2}[A-Za-z_][\w./]*"
"""A setting or a group, as it begins a word of the command line."""

ONE_VALUE = {*GROUPS, "seed", "data_seed"} - {"experiment"}
"""The names for which a list is a mistake."""

SEEDS = ("seed", "data_seed")

SHOWN = 60
"""Characters of a setting in a message."""


def check_forms(words: Sequence[str]) -> None:
    """Raise RequestError with the right form for the first word that has a common slip."""
    for place, word in enumerate(words):
        if found := next(_meant(word, words[place + 1 :]), None):
            raise RequestError(
                "a setting is written name=value, with one = and without spaces: write "
                f"{_shown(found)}"
            )
        _check_value(*word.partition("=")[::2])


def _meant(word: str, after: Sequence[str]) -> Iterator[str]:
    """Yield the setting that was meant by `name==value`, `name:value`, or parts of one as words."""
    if slip := re.fullmatch(rf"({NAME})(?:==|: ?)([^=].*)", word):
        if "=" not in slip[2]:
            yield f"{slip[1]}={slip[2]}"
        return
    following = [*after, "", ""]
    begun = re.fullmatch(rf"({NAME})(?:==?|:)", word)
    if begun and following[0] and not re.match(r"[+~]|.*=", following[0]):
        yield f"{begun[1]}={following[0]}"
    if re.fullmatch(NAME, word) and following[0].startswith("="):
        yield f"{word}={following[0].lstrip('=') or following[1]}"


def _check_value(name: str, value: str) -> None:
    """Raise RequestError for several values in a form that Hydra reads as one value."""
    if name in GROUPS and "*" in value and "(" not in value:
        raise RequestError(
            f"{name} takes the name of a choice, got '{shortened_value(value, SHOWN)}': for a run "
            f"with each choice, write -m '{name}=glob({value})'"
        )
    listed = re.fullmatch(r"\[(.*)\]", value)
    if listed and name in ONE_VALUE:
        every = ",".join(part.strip() for part in listed[1].split(","))
        raise RequestError(
            f"{name} takes one value, got '{shortened_value(value, SHOWN)}': for a run with each, "
            f"write -m {shortened_value(f'{name}={every}', SHOWN)}"
        )
    bounds = re.fullmatch(r"(\d{1,9})(?:-|\.{2,3}|:)(\d{1,9})", value)
    if bounds and name in SEEDS:
        first, last = int(bounds[1]), int(bounds[2])
        numbers = f"{first},{last + 1}" if first else f"{last + 1}"
        raise RequestError(
            f"{name} must be a whole number, got '{shortened_value(value, SHOWN)}': for a run with "
            f"each, write -m '{name}=range({numbers})'"
        )


def _shown(setting: str) -> str:
    (shown,) = masked([setting])
    return shortened_value(shown, SHOWN)
