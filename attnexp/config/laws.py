"""The laws of interventions by name: the YAML files of law/ in conf/ and in --config-dir.

A file has `???` for the argument that the command line gives: `topk=2` is `count: 2`.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from attnexp.config.documents import read_document
from attnexp.config.groups import choices
from attnexp.config.schema import TARGET, check_settings, import_target
from attnexp.core.errors import RequestError, any_error_as
from attnexp.probe.interventions import NamedLaw
from attnexp.probe.laws.base import Law

GROUP = "law"

MISSING = "???"
"""The value of an argument that the command line gives."""


def read_laws(config_dir: Path | None = None) -> dict[str, NamedLaw]:
    """Return the laws by name. No class is imported.

    Raises RequestError for a file that is not a mapping, or in which two arguments are missing.
    """
    return {law.name: law for law in _read(config_dir)}


def _read(config_dir: Path | None) -> Iterator[NamedLaw]:
    for choice in choices(GROUP, config_dir):
        settings = read_document(choice.path, dict[str, Any])
        missing = [name for name, value in settings.items() if value == MISSING]
        if len(missing) > 1:
            raise RequestError(
                f"{choice.path}: one argument at most can be {MISSING}, got {' and '.join(missing)}"
            )
        argument = missing[0] if missing else None
        yield NamedLaw(choice.name, argument, partial(_made, choice.name, settings, argument))


def _made(name: str, settings: Mapping[str, Any], argument: str | None, text: str | None) -> Law:
    path = f"{GROUP}={name}"
    own = {key: given for key, given in settings.items() if key != TARGET}
    if argument is not None:
        if not text:
            raise RequestError(f"{name} takes a value: write {name}={argument.upper()}")
        own[argument] = _number(text)
    found = import_target(settings, path)
    check_settings(own, found, name)
    with any_error_as(path):
        law = found(**own)
    if not isinstance(law, Law):
        raise RequestError(f"{path}: {settings[TARGET]!r} is not a subclass of Law")
    return law


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
