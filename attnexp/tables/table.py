"""A table before it has a format: cells, columns, captions, and the notes that go with them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from attnexp.console import number_text

NOTHING = "\N{EN DASH}"
"""What stands in a cell without a value."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One entry: how it reads, and whether it stands out."""

    text: str
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column. A spare column may be left out where there is no room for it."""

    title: str
    right: bool = False
    spare: bool = False


@dataclass(frozen=True)
class Grid:
    """A table of texts, in order, with what its rows have in common."""

    columns: Sequence[Head]
    rows: Sequence[Sequence[Cell]]
    title: str = ""
    caption: str = ""


@dataclass(frozen=True)
class Report:
    """Everything that one request shows.

    `grids` is for readers. `records` says the same for programs: plain values, a mapping a row,
    each with the same keys. `notes` must be read with the numbers.
    """

    grids: Sequence[Grid]
    records: Sequence[dict[str, object]]
    notes: Sequence[str] = field(default=())


def cell(value: object) -> Cell:
    """Return a value as a cell: numbers to four digits, a dash for what is missing."""
    if isinstance(value, Cell):
        return value
    missing = value is None or value != value
    return Cell(NOTHING if missing else number_text(value))


def count_text(number: int, what: str) -> str:
    """Return how many of something there are, as in `1 run` and `2 runs`."""
    return f"{number} {what}{'' if number == 1 else 's'}"
