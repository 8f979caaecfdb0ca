"""The one walk over nested settings, and settings as cells of a table."""

import marshal
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any

GROUPS = (
    "model",
    "normalizer",
    "estimator",
    "attention",
    "positions",
    "arch",
    "data",
    "task",
    "optim",
    "schedule",
    "train",
    "tracker",
    "experiment",
)
"""The groups of settings, in the order in which they are listed."""

DEVICES = "auto, cpu, cuda, cuda:N or mps"

Value = str | int | float | bool | None
"""A setting as one cell of a table holds it."""

UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"


def leaves(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every setting that is not a group, with its dotted path, in order.

    An empty group is yielded as a setting.
    """
    for name, value in settings.items():
        path = _joined(prefix, name)
        if isinstance(value, Mapping) and value:
            yield from leaves(value, path)
        else:
            yield path, value


def without(
    settings: Mapping[str, Any], paths: Collection[str], prefix: str = ""
) -> dict[str, Any]:
    """Return the nested settings without those at the dotted paths."""
    kept = {}
    for name, value in settings.items():
        path = _joined(prefix, name)
        if path not in paths:
            inside = isinstance(value, Mapping)
            kept[str(name)] = without(value, paths, path) if inside else value
    return kept


def cells(settings: Mapping[str, Any], left_out: frozenset[str]) -> Mapping[str, Value]:
    """Return the settings by dotted path as cells of a table, without those in `left_out`.

    Runs of one configuration share the mapping: thousands of them are read at once.
    """
    kept = {name: value for name, value in settings.items() if name not in left_out}
    return _cells(marshal.dumps(kept, 2), left_out)


@lru_cache(maxsize=4096)
def _cells(settings: bytes, left_out: frozenset[str]) -> Mapping[str, Value]:
    kept = without(marshal.loads(settings), left_out)
    return {clean(path): cell(value) for path, value in leaves(kept) if value != {}}


def cell(value: Any) -> Value:
    """Return a setting as one cell: 1.0 and 1 are one number, as in a run's key; a list is text."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, list | Mapping):
        return _listed(value)
    return clean(value) if isinstance(value, str) else value


def clean(text: str) -> str:
    """Return text that can be printed: unprintable characters are replaced by a mark."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else UNPRINTABLE for char in text)


@lru_cache(maxsize=4096)
def _joined(prefix: str, name: str) -> str:
    return f"{prefix}.{name}" if prefix else str(name)


def _listed(value: Any) -> str:
    """Return a value inside a list as it is written on the command line."""
    if isinstance(value, list):
        return f"[{', '.join(map(_listed, value))}]"
    if isinstance(value, Mapping):
        inside = (f"{clean(str(key))}: {_listed(entry)}" for key, entry in value.items())
        return f"{{{', '.join(inside)}}}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(cell(value))
