"""The option `--name OLD=NEW`, by which verbs that show runs rename rows and columns."""

import re
from collections import Counter
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
        "another name for a choice, a setting such as width=1, a row, a column such as "
        "model.width, or a metric; can be repeated",
        option="--name",
        metavar="OLD=NEW",
    ),
]


def asked_names(labels: Sequence[str], runs: "Sequence[Run]") -> "Renaming":
    """Return the names that replace those of runs.

    Raises RequestError for a name that is not shown, and for one that something else has.
    """
    from attnexp.select.frame import make_frame
    from attnexp.select.number import numbers_of
    from attnexp.select.renaming import KEPT, Renaming

    if not labels:
        return KEPT
    frame = make_frame(runs)
    known = {name: _words(frame, name) for name in frame.factors}
    words = {word for own in known.values() for word in own}
    settings = _forms(frame)
    metrics = dict.fromkeys(frame.metrics)
    if not {text.partition("=")[0] for text in labels} <= words | {*settings, *metrics}:
        metrics |= dict.fromkeys(
            [*numbers_of(runs), *(name for run in runs for name in run.epochs)]
        )
    differing = [name for name in frame.several if not name.endswith("_target_")]
    near = dict.fromkeys(word for name in [*differing, "model"] for word in _words(frame, name))
    columns = settings | {name: name for name in metrics}
    asked = dict(_asked_name(text, words, columns, [*near, *columns]) for text in labels)
    names = {old: new for old, new in asked.items() if old not in columns}
    titles = {columns[old]: new for old, new in asked.items() if old in columns}
    _require_apart(names, words, "row")
    _require_apart(titles, {*frame.names, *columns.values()}, "column")
    return Renaming(
        names,
        {form: titles[path] for form, path in settings.items() if path in titles},
        {name: new for name, new in titles.items() if name in metrics},
    )


def _require_apart(names: Mapping[str, str], words: Collection[str], what: str) -> None:
    """Raise RequestError for a new name that something else has, which would merge two."""
    for old, new in names.items():
        others = {kept for kept in words if kept not in names}
        others |= {other for one, other in names.items() if one != old}
        if new in others:
            raise RequestError(f"--name: '{old}' and another {what} would both be '{new}'")


def _asked_name(
    text: str, words: Collection[str], columns: Collection[str], near: Collection[str]
) -> tuple[str, str]:
    """Return a name and its replacement. A name may have an equals sign: `width=1=narrow`."""
    signs = [found.start() for found in re.finditer("=", text)]
    for at in reversed(signs):
        old, new = text[:at], text[at + 1 :]
        if old in columns and "=" in new:
            raise RequestError(f"--name: the name '{new}' of a column has an equals sign")
        if old in columns or all(part in words for part in old.split(", ")):
            if new.strip() and new.isprintable() and text not in words:
                return old, new
            break
    else:
        if signs:
            raise RequestError(f"--name: {none_of(text[: signs[-1]], near)}")
    raise RequestError(f"--name: '{text}' has no new name of one line: write OLD=NEW")


def _words(frame: "Frame", name: str) -> list[str]:
    """Return the words of a column in labels: its choices, or `width=1` and `model.width=1`."""
    values = dict.fromkeys(frame.data[name]) if name in frame.data else ()
    if name in frame.choices:
        return [str(value) for value in values if value is not None]
    known = [value for value in values if value is not None]
    return [f"{end}={setting_text(value)}" for value in known for end in _ends(name)]


def _forms(frame: "Frame") -> dict[str, str]:
    """Return the column of each form of a setting or group that names one column alone.

    A form of several columns is that of the one in which runs differ, which labels have.
    """
    found: dict[str, str] = {}
    for names in (frame.factors, frame.several):
        counts = Counter(end for name in names for end in _ends(name))
        found |= {end: name for name in names for end in _ends(name) if counts[end] == 1}
    return found | {name: name for name in frame.factors}


def _ends(name: str) -> list[str]:
    """Return the ends of a dotted name, the shortest first: `width` and `model.width`."""
    parts = name.split(".")
    return [".".join(parts[start:]) for start in reversed(range(len(parts)))]
