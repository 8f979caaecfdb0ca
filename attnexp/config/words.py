"""The words of a command line: quoting for Hydra's grammar, common slips, words without effect.

Outside of quotes the grammar knows a-z, A-Z, 0-9 and a few signs. Other text needs quotes that the
shell leaves in place, which nobody expects of `data.path=été.csv`.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hydra.core.override_parser.overrides_parser import OverridesParser, create_functions
from hydra.core.override_parser.types import Quote, QuotedString
from hydra.errors import HydraException

from attnexp.config.groups import top_level
from attnexp.config.unknown import SHOWN, word_shown
from attnexp.core import console
from attnexp.core.errors import RequestError, shortened_value, suggestion
from attnexp.core.synonyms import options_for
from attnexp.runs.key import NEUTRAL
from attnexp.runs.settings import GROUPS

if TYPE_CHECKING:
    from attnexp.config.job import Job

BLANK = " \t"
"""The characters that the grammar ignores around a value."""

CLOSING = {"(": ")", "[": "]", "{": "}"}

PIECE = re.compile(r"\$\{[^}]+\}|\\[\\()\[\]{}:=, \t]|.", re.DOTALL)
"""An interpolation, an escaped character, or a character."""

QUOTED = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)

PART = re.compile(
    rf"(?:^|,)([ \t]*(?:{QUOTED.pattern})[ \t]*(?=,|$)|(?:\$\{{[^}}]+\}}|\\.|[^,])*)", re.DOTALL
)
"""A part of a list between commas. A part in quotes may contain commas."""

CALL = re.compile(r"([A-Za-z_][\w-]*)([ \t]*)\(", re.ASCII)

FUNCTIONS = create_functions()

SETTING = r"[+~]{0,2}[A-Za-z_][\w./]*"
"""A setting or a group at the beginning of a word."""

NAME, VALUE = "NAME", "VALUE"
"""Placeholders in messages for the value of a group and of a setting."""

ONE_VALUE = {*GROUPS, "seed", "data_seed"} - {"experiment"}
"""The settings for which a list is a mistake."""

SEEDS = ("seed", "data_seed")

OF_SWEEPS = (
    "hydra/launcher",
    "hydra.launcher",
    "hydra/sweeper",
    "hydra.sweeper",
    "hydra.sweep",
    "fail_fast",
)
"""Settings that have no effect on a single run."""

OF_TRAINING = NEUTRAL - {"figures", "output_dir", "rerun", "fail_fast"}
"""Settings that have no effect on a run that has finished."""


@lru_cache(maxsize=4096)
def readable(word: str) -> str:
    """Return a setting with quotes around plain text that the grammar cannot read.

    Such text is the whole value, one of several values, or an element of a list. Other words are
    returned unchanged.
    """
    name, sign, value = word.partition("=")
    if not sign or _is_readable(word):
        return word
    listed = re.fullmatch(r"[ \t]*\[(.*)\][ \t]*", value, re.DOTALL)
    if _has_equals(value):
        found = f"{name}={_plain(value)}"
    else:
        text = ",".join(_quoted(part) for part in PART.findall(listed[1] if listed else value))
        found = f"{name}=[{text}]" if listed else f"{name}={text}"
    return found if _is_readable(found) else word


def closed(word: str) -> str:
    """Return a word with its open brackets closed, if that makes the word a setting."""
    whole = word + (_unclosed(QUOTED.sub("", word)) or "")
    return whole if _is_readable(whole) else word


def _unclosed(text: str) -> str | None:
    """Return the missing closing brackets of a text, None if a bracket closes nothing."""
    expected: list[str] = []
    for piece in PIECE.findall(text):
        if piece in CLOSING:
            expected.append(CLOSING[piece])
        elif piece in CLOSING.values() and (not expected or expected.pop() != piece):
            return None
    return "".join(reversed(expected))


def _is_readable(word: str) -> bool:
    try:
        OverridesParser(FUNCTIONS).parse_override(word)
    except (HydraException, RecursionError):
        return False
    return True


def _has_equals(value: str) -> bool:
    """Return whether a value is one plain text with equals signs, such as `runs/lr=0.1`."""
    signs = "".join(piece for piece in PIECE.findall(value) if len(piece) == 1)
    return "=" in signs and not re.search(r"\s.*=|[\[\](){},]|^['\"]", signs.strip(BLANK))


def _quoted(text: str) -> str:
    """Return text, in quotes if it is plain and the grammar cannot read it.

    Text that begins with a quote or a bracket, calls a function or has an equals sign is not plain.
    """
    bare = text.strip(BLANK)
    call = CALL.match(bare)
    calls = call and (call[1] in FUNCTIONS.definitions or not call[2])  # `speed (m/s)` is none
    is_plain = bare and bare[0] not in {*"'\"", *CLOSING} and "=" not in PIECE.findall(bare)
    if _is_readable(f"name={text}") or calls or not is_plain or _unclosed(bare) != "":
        return text
    return _plain(text)


def _plain(text: str) -> str:
    """Return plain text in quotes, with escapes removed."""
    pieces = PIECE.findall(text.lstrip(BLANK))
    while pieces[-1] in BLANK:
        pieces.pop()
    shown = (piece[1:] if piece[0] == "\\" and len(piece) > 1 else piece for piece in pieces)
    return QuotedString("".join(shown), Quote.single).with_quotes()


def swept_groups(words: Iterable[str], loader: Any) -> dict[str, list[str]]:
    """Return the choices of each group that words vary. The last word of a group counts.

    `loader` finds the choices of `glob`. Raises HydraException for a word that cannot be parsed.
    """
    parsed = OverridesParser.create(loader).parse_overrides([readable(word) for word in words])
    named = {each.key_or_group: each for each in parsed if each.key_or_group in GROUPS}
    several = {
        group: [str(getattr(name, "text", name)) for name in each.sweep_iterator()]
        for group, each in named.items()
        if each.is_choice_sweep()
    }
    return {group: names for group, names in several.items() if names}


def check_forms(words: Sequence[str]) -> None:
    """Raise RequestError with the right form for the first word that has a common slip."""
    for place, word in enumerate(words):
        if (several := _with_values(word, words[place + 1 :])) != word:
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
    """Yield the setting meant by `name==value`, `name:value`, or a setting split by spaces.

    Without a sign between name and value, the name must be a group or a top-level setting.
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


def _with_values(word: str, after: Sequence[str]) -> str:
    """Return a setting joined with the values after it, as in `seed=1, 2`."""
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
    """Raise RequestError for an unknown option that is similar to a known one."""
    plain = option.lower().replace("_", "-")
    near = options_for(option) or get_close_matches(plain, options, n=1, cutoff=0.85)
    if near:
        raise RequestError(f"{option} is not an option.{suggestion(near)}")


def setting_of(option: str, after: Sequence[str]) -> str:
    """Return the setting that an option such as `--seed 3` means. `after` are the words after it.

    An option without a value sets a boolean setting to true.
    """
    name, sign, value = option.lstrip("-").partition("=")
    name = name.replace("-", "_")
    if not sign and after and not re.match(r"[+~]|-\D|.*=", after[0]):
        value = after[0]
    default = "true" if isinstance(top_level().get(name), bool) else VALUE
    return f"{name}={value or (NAME if name in GROUPS else default)}"


def print_unused_alone(job: "Job") -> None:
    """Print the given settings that have an effect only with -m."""
    if words := _typed(job, OF_SWEEPS):
        console.print_line(f"no effect without -m: {', '.join(words)}")


def check_unused(job: "Job") -> None:
    """Check and print the given settings that a finished run does not use.

    Raises RequestError for settings with which the run could not run again.
    """
    words = _typed(job, OF_TRAINING)
    if not words:
        return
    if any(word not in ("device=cpu", "device=auto") for word in words):
        with console.status("loading PyTorch"):
            from attnexp.config import build
        try:
            build.check_neutral(job)
        except ValueError as error:
            raise RequestError(str(error)) from error
    console.print_line(f"no effect on finished runs: {', '.join(words)}")


def _typed(job: "Job", names: Collection[str]) -> list[str]:
    """Return the overrides that set one of these names, or a setting inside of one."""
    overrides = job.config.hydra.overrides
    words = [*overrides.hydra, *overrides.task]
    by_word = {word: word.partition("=")[0].lstrip("+~") for word in words}
    return [
        word
        for word, name in by_word.items()
        if any(name == each or name.startswith(f"{each}.") for each in names)
    ]
