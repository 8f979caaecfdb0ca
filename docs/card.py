"""Writes the table of trials in docs/card.md from their files: `python docs/card.py`."""

import re
from pathlib import Path
from typing import get_args

from attnexp.cards.trial import GROUP, LevelName, Trial
from attnexp.config.documents import read_document
from attnexp.config.groups import Choice, choices

PAGE = Path(__file__).resolve().parent / "card.md"
HEAD = "| trial | asks | decided by | harder by | levels | source |\n|---|---|---|---|---|---|\n"
TABLE = re.compile(r"<!-- conf/trial -->\n\n(?:\|.*\n)*")


def written(page: str) -> str:
    """Return a page with its table written anew."""
    return TABLE.sub(lambda _: f"<!-- conf/trial -->\n\n{HEAD}{''.join(rows())}", page)


def rows() -> list[str]:
    """Return the row of each trial that ships, in alphabetical order."""
    return [row(choice, read_document(choice.path, Trial)) for choice in choices(GROUP)]


def row(choice: Choice, trial: Trial) -> str:
    """Return the row of a trial."""
    harder = ", ".join(f"`{name}`" for name in trial.harder)
    levels = [name for name in get_args(LevelName) if getattr(trial, name)]
    number = f"`{trial.metric}`"
    if trial.works is not None:
        number = (
            f"values of `{trial.works.setting}` with {number} at least {trial.works.at_least:g}"
        )
    cells = [f"`{choice.name}`", choice.line, number, harder, ", ".join(levels), trial.source]
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |\n"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
