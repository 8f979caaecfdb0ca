"""The words that complete an argument of a verb: runs, files, names.

A function here takes what argcomplete gives it by name, and uses the word so far, or the arguments
before it. It imports nothing heavy, and no code of the user.
"""

import argparse
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from attnexp.config.groups import choices

Candidates = Callable[..., Iterable[str]]
"""Returns the words that may come next. argcomplete passes `prefix` and `parsed_args` by name."""


def names(of: Callable[[], Iterable[str]]) -> Candidates:
    """Return candidates that do not depend on the words before."""
    return lambda **_: of()


def several(of: Callable[[], Iterable[str]]) -> Candidates:
    """Return candidates for an argument of several names, separated by commas."""

    def next_names(prefix: str, **_: Any) -> Iterator[str]:
        before, comma, _last = prefix.rpartition(",")
        given = before.split(",")
        return (f"{before}{comma}{name}" for name in of() if name not in given)

    return next_names


def chosen(groups: Mapping[str, str]) -> Candidates:
    """Return candidates for words `name=choice`, with the group of choices of each name."""

    def settings(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> Iterable[str]:
        name, sign, _value = prefix.partition("=")
        if not sign:
            return [f"{name}=" for name in groups]
        found = choices(groups[name], parsed_args.config_dir) if name in groups else []
        return [f"{name}={choice.name}" for choice in found]

    return settings


def files(prefix: str, **_: Any) -> Iterator[str]:
    """Yield the paths that begin with a prefix, folders with a slash at the end."""
    folder, name = os.path.split(prefix)
    with os.scandir(os.path.expanduser(folder) or ".") as entries:
        for entry in entries:
            if entry.name.startswith(name) and (name or not entry.name.startswith(".")):
                yield os.path.join(folder, entry.name) + "/" * entry.is_dir()


def runs(prefix: str, **others: Any) -> Iterator[str]:
    """Yield `last`, the names of the run folders below outputs/, and paths of folders."""
    from attnexp.runs.files import SUMMARY
    from attnexp.select.collect import OUTPUTS
    from attnexp.select.reference import LAST

    for pattern in ("*", "*/*"):
        found = [path.parent.name for path in Path(OUTPUTS).glob(f"{pattern}/{SUMMARY}")]
        yield from [LAST, *found] if found else []
    yield from (path for path in files(prefix, **others) if path.endswith("/"))


def claims(parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """Return the names of all claims, the user's own among them."""
    from attnexp.claims.claim_file import names

    return names(parsed_args.config_dir)


def laws(parsed_args: argparse.Namespace, **_: Any) -> Iterator[str]:
    """Yield the names of interventions, with an `=` behind those that take an argument."""
    from attnexp.config.documents import read_document

    for choice in choices("law", parsed_args.config_dir):
        takes_argument = "???" in read_document(choice.path, dict[str, Any]).values()
        yield f"{choice.name}=" if takes_argument else choice.name
    yield from ("interpolate=", "adversarial")


def runs_and_laws(prefix: str, **others: Any) -> Iterator[str]:
    """Yield runs and interventions."""
    yield from runs(prefix, **others)
    yield from laws(**others)
