"""`attnexp diff`: prints what differs between two runs."""

from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import TYPE_CHECKING

from rich.text import Text

from attnexp.cli import arguments
from attnexp.core import console
from attnexp.runs.settings import cells, clean
from attnexp.tables.grid import Grid, Head, Line, Report
from attnexp.tables.screen import show

if TYPE_CHECKING:
    from attnexp.runs.folder import Run

EPILOG = """examples:
  attnexp diff outputs/RUN outputs/OTHER    all that differs
  attnexp diff 3 7                          numbers of `results --runs`
"""

NAMES = ("a", "b")
"""What the two runs are called in tables and texts."""

COLOURS = {"+": "green", "-": "red", "@": "cyan"}
"""The colours of lines of a text difference, by their first character."""


def main(run: arguments.Run, other: arguments.Run) -> None:
    """Print the settings, code, versions, commit and numbers in which two runs differ.

    Raises RequestError for a run that is not there.
    """
    from attnexp.runs.folder import load_run
    from attnexp.runs.origin.repeat import origin_of

    runs = load_run(run), load_run(other)
    for name, each in zip(NAMES, runs, strict=True):
        console.screen.out.print(Text(f"{name}: {clean(str(each.folder))}"), soft_wrap=True)
    one, two = (each.summary for each in runs)
    sections: dict[str, tuple[Mapping[str, object], Mapping[str, object]]] = {
        "setting": (_settings(runs[0]), _settings(runs[1])),
        "origin": (origin_of(one), origin_of(two)),
        "number": (runs[0].metrics, runs[1].metrics),
    }
    grids = [
        Grid([Head(name), *(Head(each, right=True) for each in NAMES)], lines, labels=1)
        for name, (ours, theirs) in sections.items()
        if (lines := _differing(ours, theirs))
    ]
    show(Report(grids))
    texts = [*_code(*runs)]
    for text in texts:
        style = COLOURS.get(text[:1], "")
        console.screen.out.print(Text(text, style=style), soft_wrap=True)
    if not grids and not texts:
        console.screen.out.print("no difference in settings, code, versions, commit and numbers")


def _settings(run: "Run") -> dict[str, object]:
    """Return the choices and all settings of a run, the seed and neutral ones included."""
    return {**run.choices, **cells(run.config, frozenset())}


def _differing(ours: Mapping[str, object], theirs: Mapping[str, object]) -> list[Line]:
    """Return a line for each name whose value differs between the two sides."""
    return [
        Line([name, *(_shown(side.get(name)) for side in (ours, theirs))])
        for name in {**ours, **theirs}
        if ours.get(name) != theirs.get(name)
    ]


def _shown(value: object) -> object:
    """Return a value as a cell of a table: a number as it is, anything else as printable text."""
    return value if value is None or isinstance(value, int | float) else clean(str(value))


def _code(one: "Run", two: "Run") -> Iterator[str]:
    """Yield lines on what differs between the user's own modules of two runs."""
    from attnexp.runs.user_code import changed_modules, stored_texts, text_digest

    codes = one.summary.code, two.summary.code
    ours, theirs = stored = stored_texts(one.folder), stored_texts(two.folder)
    for module in changed_modules(*codes):
        name = clean(module)
        has = [module in code for code in codes]
        sides = zip(NAMES, codes, stored, strict=True)
        if not all(has):
            yield f"code: {name} is part of {NAMES[has[1]]} alone"
        elif edited := [
            side
            for side, code, texts in sides
            if module in texts and text_digest(texts[module]) != code[module]
        ]:
            yield f"code: the stored text of {name} is not what ran in {' and '.join(edited)}"
        elif module in ours and module in theirs:
            yield f"code: {name}"
            old, new = (text[module].expandtabs(4).splitlines() for text in (ours, theirs))
            yield from map(clean, unified_diff(old, new, *NAMES, lineterm=""))
        else:
            yield f"code: {name} differs; not both runs have stored its text"
