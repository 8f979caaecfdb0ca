"""What a table is before it has a format: cells, grids, and what is said beside them."""

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
class Column:
    """The head of a column. A spare column may be left out where there is no room for it."""

    title: str
    right: bool = False
    spare: bool = False


@dataclass(frozen=True)
class Grid:
    """A table of texts, in order, with what its rows have in common."""

    columns: Sequence[Column]
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


def cell(value: object, strong: bool = False) -> Cell:
    """A plain value as a cell: numbers to four digits, a dash for what is missing."""
    missing = value is None or value != value
    return Cell(NOTHING if missing else number_text(value), strong)
