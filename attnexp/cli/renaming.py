"""The option `--name OLD=NEW`, by which verbs that show runs rename rows and columns."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

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

Words = dict[str, set[tuple[str, Any]]]
"""The words for values in labels, each with the columns and values that it stands for."""


def asked_names(labels: Sequence[str], runs: "Sequence[Run]") -> "Renaming":
    """Return the other names that --name asks for.

    Raises RequestError for an old name that nothing has, for a new name that something else has,
    and for two new names of one thing.
    """
    from attnexp.select.frame import make_frame
    from attnexp.select.number import numbers_of
    from attnexp.select.renaming import KEPT, Renaming
    from attnexp.tables.columns import FIXED

    if not labels:
        return KEPT
    frame = make_frame(runs)
    words = _words(frame)
    columns = _forms(frame) | {name: name for name in frame.names}
    metrics = dict.fromkeys(frame.metrics)
    if not {text.partition("=")[0] for text in labels} <= {*words, *columns}:
        metrics |= dict.fromkeys(
            [*numbers_of(runs), *(name for run in runs for name in run.epochs)]
        )
    columns = {name: name for name in metrics} | columns
    differing = {"model", *(name for name in frame.several if not name.endswith("_target_"))}
    near = [word for word, named in words.items() if any(name in differing for name, _ in named)]
    names, titles = dict[str, str](), dict[str, str]()
    for text in labels:
        old, new = _asked_name(text, words, columns, [*near, *columns])
        own, name = (titles, columns[old]) if old in columns else (names, _spelled(old, words))
        if own.setdefault(name, new) != new:
            raise RequestError(f"--name: '{old}' would be both '{own[name]}' and '{new}'")
    _require_apart(names, words, "row")
    _require_apart(titles, {*frame.names, *columns.values(), *FIXED}, "column")
    _require_other_values(names, words, frame)
    settings = {form: path for form, path in columns.items() if path not in metrics}
    return Renaming(
        names,
        {form: titles[path] for form, path in settings.items() if path in titles},
        {name: new for name, new in titles.items() if name in metrics},
    )


def _require_apart(names: Mapping[str, str], words: Collection[str], what: str) -> None:
    """Raise RequestError for a new name that another row or column has: two would look like one."""
    for old, new in names.items():
        others = {kept for kept in words if kept not in names}
        others |= {other for one, other in names.items() if one != old}
        if new in others:
            raise RequestError(f"--name: '{old}' and another {what} would both be '{new}'")


def _require_other_values(names: Mapping[str, str], words: Words, frame: "Frame") -> None:
    """Raise RequestError for a new name that reads as another value of the same column."""
    renamed = {place for old in names for place in words.get(old, ())}
    for old, new in names.items():
        for column, _ in words.get(old, ()):
            others = {value for value in frame.data[column] if (column, value) not in renamed}
            if new in map(setting_text, others):
                raise RequestError(
                    f"--name: '{old}' and another value of {column} would both be '{new}'"
                )


def _asked_name(
    text: str, words: Collection[str], columns: Collection[str], near: Collection[str]
) -> tuple[str, str]:
    """Return the old and the new name in a text OLD=NEW.

    The old name may have an equals sign: `width=1=narrow`.

    Raises RequestError for an old name that nothing has, and for a new name that is empty or not
    printable.
    """
    from attnexp.tables.columns import FIXED

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
        if signs and (old := text[: signs[-1]]) in FIXED:
            raise RequestError(f"--name: '{old}' is a column of statistics, which keeps its name")
        if signs:
            raise RequestError(f"--name: {none_of(text[: signs[-1]], near)}")
    raise RequestError(f"--name: '{text}' has no new name of one line: write OLD=NEW")


def _words(frame: "Frame") -> Words:
    """Return the words of values: choices, `width=1` and `model.width=1`, and digits of code."""
    from attnexp.runs.user_code import NO_CODE
    from attnexp.select.frame import OF_CODE

    found: Words = {}
    for name in (*frame.factors, *OF_CODE):
        for value in dict.fromkeys(frame.data[name]):
            own = [f"{end}={setting_text(value)}" for end in _ends(name)]
            if name in frame.choices:
                own = [str(value)]
            elif name in OF_CODE and value != NO_CODE:
                own.append(str(value))
            for word in own if value is not None else ():
                found.setdefault(word, set()).add((name, value))
    return found


def _spelled(old: str, words: Words) -> str:
    """Return a name as labels write it: each part by the first of the words with its meaning."""
    return ", ".join(
        next(word for word, named in words.items() if named == words[part])
        for part in old.split(", ")
    )


def _forms(frame: "Frame") -> dict[str, str]:
    """Return the column that each form of a name stands for: `width` or `model.width`.

    A form that fits several columns stands for the one in which runs differ, if there is one.
    """
    found: dict[str, str] = {}
    for names in (frame.factors, frame.several):
        counts = Counter(end for name in names for end in _ends(name))
        found |= {end: name for name in names for end in _ends(name) if counts[end] == 1}
    return found | {name: name for name in frame.factors}


def _ends(name: str) -> list[str]:
    """Return the endings of a dotted name, the shortest first: `width`, then `model.width`."""
    parts = name.split(".")
    return [".".join(parts[start:]) for start in reversed(range(len(parts)))]
