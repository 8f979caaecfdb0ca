"""YAML files read as values whose types are checked.

PyYAML, OmegaConf and msgspec go through a document by recursion, in C without a bound, and write
an alias out wherever it occurs. So the nesting and the aliases of a file are bounded before any of
them reads it, by a scan of its events, which needs neither recursion nor the values.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import yaml

from attnexp.core.errors import RequestError, choices_text, shortened
from attnexp.runs.files import read_bytes
from attnexp.runs.settings import clean

MOST_LEVELS = 100
"""The most lists and mappings that may lie inside each other, aliases written out."""

MOST_ALIASED = 100_000
"""The most values that the aliases of a file may stand for, all together."""

NESTING = "maximum nesting depth"
"""Part of the error of PyYAML from 6.0.4 on for brackets nested deeper than PyYAML allows."""

WORDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "NoneType": "null",
    "array": "a list",
    "object": "settings as name: value",
}
"""Types in words, by the names that Python or msgspec have for them."""

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""PyYAML's parser in C, where PyYAML was built with one."""


def read_document(path: Path, kind: Any) -> Any:
    """Return the content of a YAML file as a value of a type, such as `dict[str, int]`.

    Raises RequestError if there is no such file, for other fields or types than expected, and as
    `read_bounded`.
    """
    try:
        return msgspec.yaml.decode(read_bounded(path), type=kind)
    except FileNotFoundError as error:
        raise RequestError(str(error)) from error
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RequestError(f"{path}: {shortened(clean(_mistake(error)))}") from error


def _mistake(error: Exception) -> str:
    """Return what is wrong with a document: the field and the type expected, or the line."""
    text, cause = " ".join(str(error).split()), error.__context__
    if isinstance(cause, yaml.MarkedYAMLError) and (mark := cause.problem_mark):
        return f"not valid YAML at line {mark.line + 1}: {cause.problem or cause.context}"
    unlike = re.fullmatch(r"Expected `([^`]+)`, got `(\w+)`(?: - at `\$\.(.+)`)?", text)
    if unlike is None:
        return text
    names, given, field = unlike.groups()
    words = [WORDS.get(name, name) for name in names.split(" | ")]
    got = "nothing" if given == "null" else WORDS.get(given, given)
    return f"{field or 'the file'} must be {choices_text(words)}, got {got}"


def read_bounded(path: Path) -> bytes:
    """Return the content of a YAML file whose nesting and aliases are bounded.

    Raises FileNotFoundError if there is none, and RequestError if it cannot be read, is nested
    deeper than MOST_LEVELS, if its aliases stand for more than MOST_ALIASED values, or if one lies
    inside the value that it names. A file that is not YAML is returned: its reader says where it is
    not.
    """
    content = read_bytes(path)
    try:
        _check_size(path, yaml.parse(content, Loader=LOADER))
    except yaml.YAMLError as error:
        if NESTING in str(error):
            raise _too_deep(path) from error
    return content


@dataclass
class _Value:
    """A value: the number of values in it, itself included, and of nested lists and mappings."""

    values: int = 1
    levels: int = 0
    anchor: str | None = None

    def add(self, inside: "_Value") -> None:
        """Count a value that lies in this list or mapping."""
        self.values += inside.values
        self.levels = max(self.levels, inside.levels + 1)


def _check_size(path: Path, events: Iterator[yaml.Event]) -> None:
    named: dict[str, _Value] = {}
    around = [_Value(levels=1)]  # the file, then the lists and mappings that have not ended
    aliased = 0
    for event in events:
        if isinstance(event, yaml.CollectionStartEvent):
            around.append(_Value(levels=1, anchor=event.anchor))
        elif isinstance(event, yaml.AliasEvent):
            if any(value.anchor == event.anchor for value in around):
                raise RequestError(
                    f"{path}: *{event.anchor:.50} lies inside the value that it names"
                )
            alias = named.get(str(event.anchor), _Value())
            around[-1].add(alias)
            aliased += alias.values
        elif isinstance(event, yaml.ScalarEvent | yaml.CollectionEndEvent):
            is_scalar = isinstance(event, yaml.ScalarEvent)
            value = _Value(anchor=getattr(event, "anchor", None)) if is_scalar else around.pop()
            around[-1].add(value)
            if value.anchor is not None:
                named[value.anchor] = value
        if len(around) - 2 + around[-1].levels > MOST_LEVELS:
            raise _too_deep(path)
        if aliased > MOST_ALIASED:
            raise RequestError(
                f"{path}: its aliases (*NAME) stand for more than {MOST_ALIASED:,} values"
            )


def _too_deep(path: Path) -> RequestError:
    return RequestError(
        f"{path} has lists or mappings in more than {MOST_LEVELS} levels inside each other"
    )
