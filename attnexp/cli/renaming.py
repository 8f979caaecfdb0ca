"""The option `--name OLD=NEW`, by which verbs that show runs rename their rows."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

from attnexp.cli.parser import Argument
from attnexp.core.console import setting_text
from attnexp.core.errors import RequestError, none_of

if TYPE_CHECKING:
    from attnexp.runs.folder import Run
    from attnexp.select.frame import Frame
    from attnexp.select.renaming import Renaming


Labels = Annotated[
    Sequence[str],
    Argument(
        "another name for a choice, for a setting such as width=1, or for a row; can be repeated",
        option="--name",
        metavar="OLD=NEW",
    ),
]


def asked_names(labels: Sequence[str], runs: "Sequence[Run]") -> "Renaming":
    """Return the names that replace labels. Raises RequestError for a label that is not shown."""
    from attnexp.select.frame import make_frame
    from attnexp.select.renaming import KEPT, Renaming

    if not labels:
        return KEPT
    frame = make_frame(runs)
    known = {name: _words(frame, name) for name in frame.factors}
    words = {word for own in known.values() for word in own}
    differing = [name for name in frame.several if not name.endswith("_target_")]
    near = dict.fromkeys(word for name in [*differing, "model"] for word in _words(frame, name))
    names = dict(_asked_name(text, words, near) for text in labels)
    _require_apart(names, words)
    return Renaming(names)


def _require_apart(names: Mapping[str, str], words: Collection[str]) -> None:
    """Raise RequestError for a new name that something else has, which would merge two rows."""
    for old, new in names.items():
        others = {kept for kept in words if kept not in names}
        others |= {other for one, other in names.items() if one != old}
        if new in others:
            raise RequestError(f"--name: '{old}' and another row would both be '{new}'")


def _asked_name(text: str, words: Collection[str], near: Collection[str]) -> tuple[str, str]:
    """Return a label and its replacement. A label may have an equals sign: `width=1=narrow`."""
    signs = [found.start() for found in re.finditer("=", text)]
    for at in reversed(signs):
        old, new = text[:at], text[at + 1 :]
        if all(part in words for part in old.split(", ")):
            if new.strip() and new.isprintable():
                return old, new
            signs = []
    if not signs:
        raise RequestError(f"--name: '{text}' has no new name of one line: write OLD=NEW")
    raise RequestError(f"--name: {none_of(text[: signs[-1]], near)}")


def _words(frame: "Frame", name: str) -> list[str]:
    """Return the words of a column in labels: its choices, or `width=1` and `model.width=1`."""
    values = dict.fromkeys(frame.data[name]) if name in frame.data else ()
    if name in frame.choices:
        return [str(value) for value in values if value is not None]
    parts = name.split(".")
    ends = [".".join(parts[start:]) for start in reversed(range(len(parts)))]
    known = [value for value in values if value is not None]
    return [f"{end}={setting_text(value)}" for value in known for end in ends]
