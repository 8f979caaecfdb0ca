"""The text of tables, before any format: cells, heads, captions, and notes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from attnexp.core.console import number_text

NOTHING = "\N{EN DASH}"
"""The text of a cell without a value."""

COMMON = "The same in every run: "
"""The beginning of the line with the settings in common."""

FEW = 4
"""The most values that a sentence lists; of more, it counts the others."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The text of a cell, and whether it is emphasised."""

    text: str
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column.

    A spare column is left out of a screen that is too narrow: those of 1 first, then those of 2. A
    column that `folds` is written once
    next to the title if all rows have the same in it.
    """

    title: str
    right: bool = False
    spare: int = 0
    folds: bool = False


@dataclass(frozen=True)
class Grid:
    """A table of texts with its title and its caption.

    The first `labels` columns name the row. `common` are the settings that all runs share.
    """

    columns: Sequence[Head]
    rows: Sequence[Sequence[Cell]]
    title: str = ""
    caption: str = ""
    common: Sequence[str] = ()
    labels: int = 1

    @property
    def full_caption(self) -> str:
        """The caption, followed by the settings in common."""
        same = f"{COMMON}{', '.join(self.common)}." if self.common else ""
        return "\n".join(filter(None, [self.caption, same]))


@dataclass(frozen=True)
class Report:
    """The answer to a request: tables for readers, and the same as records for programs.

    A record is a mapping of plain values; all have the same keys. `verdicts` are the sentences that
    answer what was compared, `notes` those that have to be read with the numbers.
    """

    grids: Sequence[Grid]
    records: Sequence[dict[str, object]]
    notes: Sequence[str] = ()
    verdicts: Sequence[str] = ()


def cell(value: object) -> Cell:
    """Return a value as a cell: numbers to four digits, a dash for a missing value."""
    if isinstance(value, Cell):
        return value
    missing = value is None or value != value
    return Cell(NOTHING if missing else number_text(value))


def listed(values: Iterable[object]) -> str:
    """Return the first values and the number of the others, as in `a, b and 3 more`."""
    names = list(map(str, values))
    if len(names) > FEW:
        names = [*names[:FEW], f"{len(names) - FEW} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def count_text(number: int, noun: str) -> str:
    """Return a number with its noun, as in `1 run` and `2 runs`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
