"""A request of `attnexp attend`: settings and tensors, from a file and from the command line."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnexp.config.documents import read_document
from attnexp.config.groups import choices, first_line
from attnexp.core.errors import RequestError, choices_text, nearest_text, none_of, with_choices
from attnexp.runs.origin.command_line import own_words

if TYPE_CHECKING:
    from attnexp.attend.tensors import Description
    from attnexp.config.job import Job

TENSORS = {
    "queries": "batch x queries x features",
    "keys": "batch x keys x features",
    "values": "what is averaged: batch x keys x features",
    "scores": "scores in place of queries and keys: batch x queries x keys",
    "valid_lens": "keys that are not padding: 2,6 per sequence, 1,3;2,4 per query",
    "mask": "1 where a query sees a key, 0 elsewhere: batch x queries x keys",
}
"""The tensors in the order in which they are shown, and the text of the help page on each."""

GROUPS = ("model", "normalizer", "estimator")
"""The groups of choices that attention has."""

SETTING = re.compile(rf"({'|'.join(GROUPS)})(\.[A-Za-z]\w*)*|seed")
"""The names of settings that attention has. A file may be somebody else's: no `_target_`."""


@dataclass(frozen=True)
class AttendRequest:
    """Settings by name, the descriptions of tensors, and a title."""

    title: str
    settings: Mapping[str, str]
    tensors: "Mapping[str, Description]"

    def compose(self, config_dir: Path | None) -> "Job":
        """Return the configuration of the settings. Raises RequestError for settings it refuses."""
        from attnexp.config.compose import CommandLine
        from attnexp.config.messages import ComposeErrors

        words = [f"{name}={value}" for name, value in self.settings.items()]
        line = CommandLine.read([*own_words(config_dir), *words])
        try:
            job = line.compose()
        except ComposeErrors as error:
            raise line.request_error(error) from error
        if job is None:
            raise RequestError(f"attend takes one value per setting, got {' '.join(words):.120}")
        return job


def read_request(
    words: Sequence[str], typed: Mapping[str, str], file: Path | None
) -> AttendRequest:
    """Return the request of an example or a file, changed by the command line.

    `words` are settings as `name=value`, `typed` the tensors that are described on the command
    line.

    Raises RequestError for files that cannot be read, for names that attention does not have, and
    unless there are queries and keys, or scores in place of both.
    """
    settings = dict(map(_setting, words))
    example = settings.pop("example", None)
    if example is not None:
        if file is not None:
            raise RequestError(f"example={example} and --from {file} exclude each other: omit one")
        files = {choice.name: choice.path for choice in choices("attend")}
        if example not in files:
            raise RequestError(f"example: {none_of(example, files)}")
        file = files[example]
    from attnexp.attend.tensors import Description  # NumPy would slow down every help text

    content: dict[str, Any] = {} if file is None else _content(file)
    tensors = {}
    for name in TENSORS:
        if name in typed:
            tensors[name] = Description(f"--{name.replace('_', '-')}", typed[name], Path())
        elif name in content and file is not None:
            tensors[name] = Description(f"{file.name}: {name}", content[name], file.parent)
    said = {
        name: value if isinstance(value, str) else json.dumps(value, default=str)
        for name, value in content.items()
        if name not in TENSORS
    }
    settings = {**said, **settings}
    for name, value in settings.items():
        _check_setting(name, value)
    _check_complete(tensors)
    title = "" if file is None else first_line(file)
    return AttendRequest(title or "Attention", settings, tensors)


def _setting(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals:
        raise RequestError(
            f"'{word}' is not a setting: write name=value, as in example=additive or model.width=2"
        )
    return name, value


def _content(file: Path) -> dict[str, Any]:
    try:
        return read_document(file, dict[str, Any])
    except RequestError as error:
        raise RequestError(
            f"--from: {error}. The file holds lines of `name: value`, such as `keys: ones:2x10x2`"
        ) from error


def _check_setting(name: str, value: str) -> None:
    if name in TENSORS:
        raise RequestError(f"{name} is an option: give it as --{name.replace('_', '-')} '{value}'")
    if not SETTING.fullmatch(name):
        raise RequestError(
            with_choices(
                f"'{name}' has no effect here",
                nearest_text(name, TENSORS),
                f"choose {', '.join(f'{group}, {group}.NAME' for group in GROUPS)}, seed or "
                f"{choices_text(TENSORS)}",
            )
        )
    if "${" in value or ("," in value and not value.startswith("[")):
        raise RequestError(f"{name} takes one value here, got '{value:.60}'")


def _check_complete(tensors: Mapping[str, object]) -> None:
    pair = [name for name in ("queries", "keys") if name in tensors]
    if "scores" in tensors and pair:
        raise RequestError(f"scores are given, so that {pair[0]} have no effect: omit one")
    if "scores" not in tensors and len(pair) < 2:
        missing = " and ".join(f"--{name}" for name in ("queries", "keys") if name not in pair)
        raise RequestError(
            f"{missing} must be given, as in --queries normal:2x1x4 --keys ones:2x10x4; or "
            "--scores in place of both, or example=NAME"
        )
