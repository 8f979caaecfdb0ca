"""Common slips in the form of a setting on the command line, and the right form of each."""

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from attnexp.config.groups import top_level
from attnexp.core.errors import RequestError, shortened_value, suggestion
from attnexp.core.synonyms import options_for
from attnexp.runs.redaction import masked
from attnexp.runs.settings import GROUPS

SETTING = r"[+~]{0,2}[A-Za-z_][\w./]*"
"""A setting or a group, as it begins a word of the command line."""

NAME, VALUE = "NAME", "VALUE"
"""The words for the value of a group and of a setting in a message, if none was given."""

ONE_VALUE = {*GROUPS, "seed", "data_seed"} - {"experiment"}
"""The names for which a list is a mistake."""

SEEDS = ("seed", "data_seed")

SHOWN = 60
"""Characters of a setting in a message."""


def check_forms(words: Sequence[str]) -> None:
    """Raise RequestError with the right form for the first word that has a common slip."""
    for place, word in enumerate(words):
        if (several := _joined(word, words[place + 1 :])) != word:
            raise RequestError(
                f"values are separated by commas, without spaces: write {word_shown(several)}"
            )
        if found := next(_meant(word, words[place + 1 :]), None):
            raise RequestError(
                "a setting is written name=value, with one = and without spaces: write "
                f"{word_shown(found)}"
            )
        _check_value(*word.partition("=")[::2])


def _meant(word: str, after: Sequence[str]) -> Iterator[str]:
    """Yield the setting that was meant by `name==value`, `name:value`, or parts of one as words.

    Without any sign between them, the first must be a group or a setting that is in none.
    """
    if slip := re.fullmatch(rf"({SETTING})(?:==|: ?)([^=].*)", word):
        if "=" not in slip[2]:
            yield f"{slip[1]}={slip[2]}"
        return
    following = [*after, "", ""]
    begun = re.fullmatch(rf"({SETTING})(?:==?|:)", word)
    if begun and following[0] and not re.match(r"[+~]|.*=", following[0]):
        yield f"{begun[1]}={following[0]}"
    if re.fullmatch(SETTING, word) and following[0].startswith("="):
        yield f"{word}={following[0].lstrip('=') or following[1]}"
    elif re.fullmatch(r"[\w.-]+", following[0]) and word in {*GROUPS, *top_level()}:
        yield f"{word}={following[0]}"


def _joined(word: str, after: Sequence[str]) -> str:
    """Return a setting with the values behind it that only spaces next to commas part from it."""
    if not re.fullmatch(rf"{SETTING}=[^,].*", word):
        return word
    for value in after:
        if "=" in value or not (word.endswith(",") or value.startswith(",")):
            break
        word += value
    return word.rstrip(",")


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


def check_option(option: str, options: Sequence[str]) -> None:
    """Raise RequestError for an unknown option that is similar to one that there is."""
    plain = option.lower().replace("_", "-")
    near = options_for(option) or get_close_matches(plain, options, n=1, cutoff=0.85)
    if near:
        raise RequestError(f"{option} is not an option.{suggestion(near)}")


def setting_of(option: str, after: Sequence[str]) -> str:
    """Return the setting that an option such as `--seed 3` means, with the words after it.

    An option without a value sets a setting that is true or false to true.
    """
    name, sign, value = option.lstrip("-").partition("=")
    name = name.replace("-", "_")
    if not sign and after and not re.match(r"[+~]|-\D|.*=", after[0]):
        value = after[0]
    default = "true" if isinstance(top_level().get(name), bool) else VALUE
    return f"{name}={value or (NAME if name in GROUPS else default)}"


def word_shown(setting: str) -> str:
    """Return a setting without its secret, and shortened."""
    (shown,) = masked([setting])
    return shortened_value(shown, SHOWN)
