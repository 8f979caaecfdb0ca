"""The columns of the tables of configurations, each declared once.

A column is one entry of COLUMNS: the tables, CSV and JSON take it from there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal

from attnexp.console import number_text
from attnexp.tables.comparison import Entry, Part
from attnexp.tables.groups import LOST
from attnexp.tables.table import NOTHING, Cell, cell


@dataclass(frozen=True, kw_only=True)
class Column:
    """What a column holds of an entry, a row and a metric, and where it stands.

    - `value` returns a plain value, which CSV and JSON hold under `name`; without a name they do
      not have the column.
    - `text` returns how the value reads in a printed table; without it numbers have four digits.
    - `title` is the head in print, in which `{metric}` stands for the metric; without a title the
      column is not printed. `table` is the table in which it is.
    - `shown` returns whether a table has the column at all.
    - `each` repeats the column for every metric of the table.
    - A `sparse` column is left out where no row has a value in it.
    - `align` is the side on which it is set. A `spare` column is the first to be left out where
      there is no room.
    """

    value: Callable[[Entry], object]
    name: str = ""
    title: str = ""
    text: Callable[[Entry], Cell] | None = None
    table: Literal["results", "costs"] = "results"
    shown: Callable[[Part], bool] = lambda part: True
    each: bool = False
    align: Literal["left", "right"] = "right"
    spare: bool = False
    sparse: bool = False


def mean_text(entry: Entry, also: str = "") -> Cell:
    """Return mean and deviation, and a star where the row is ahead."""
    own = entry.spread
    if own.mean is None:
        return Cell(also or NOTHING)
    deviation = "" if own.sd is None else f" ± {number_text(own.sd)}"
    star = " *" if entry.ahead else ""
    return Cell(f"{number_text(own.mean)}{deviation}{also}{star}", entry.ahead)


def lost_text(entry: Entry) -> str:
    """Return how many runs of a row have no result, and why."""
    return ", ".join(f"{entry.row.lost[why]} {why}" for why in LOST if entry.row.lost[why])


def _interval(entry: Entry) -> str:
    own = entry.spread
    return NOTHING if own.low is None else f"[{number_text(own.low)}, {number_text(own.high)}]"


def _more(entry: Entry) -> str | None:
    """Return how many seeds to add, as in `4 to 30`, or `at least 4`."""
    if entry.verdict is None or entry.verdict.more is None:
        return None
    fewest, most = entry.verdict.more
    return f"at least {fewest}" if most is None else _range_text((fewest, most)).text


def _pairs(entry: Entry) -> int | None:
    return entry.verdict.test.pairs if entry.verdict and entry.verdict.test else None


def _range_text(ends: tuple[int, int] | None) -> Cell:
    if ends is None:
        return Cell(NOTHING)
    return Cell(str(ends[0]) if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}")


def _mean(entry: Entry) -> Cell:
    return Cell(cell(entry.spread.mean).text, entry.ahead)


def _ranked(part: Part) -> bool:
    return part.detailed and part.metrics[0] in part.frame.better


def _any_lost(part: Part) -> bool:
    return any(lost_text(entry) for entry in part.firsts)


def _beside(head: str) -> Callable[[Entry], float | None]:
    return lambda entry: entry.beside.get(head)


def _lost(why: str) -> Callable[[Entry], int]:
    return lambda entry: entry.row.lost[why]


COLUMNS = (
    Column(name="metric", value=attrgetter("metric")),
    Column(name="better", value=attrgetter("better")),
    Column(
        name="n", value=attrgetter("spread.n"), title="seeds", text=lambda entry: cell(entry.seeds)
    ),
    Column(
        name="mean",
        value=attrgetter("spread.mean"),
        title="{metric}",
        text=_mean,
        shown=attrgetter("detailed"),
    ),
    Column(value=mean_text, title="{metric}", shown=lambda part: not part.detailed, each=True),
    *(
        Column(
            name=head.replace(" ", "_"),
            value=_beside(head),
            title=head,
            each=True,
            spare=True,
            sparse=True,
        )
        for head in ("all heads", "chance")
    ),
    Column(
        name="sd",
        value=attrgetter("spread.sd"),
        title="sd",
        shown=attrgetter("detailed"),
        spare=True,
    ),
    Column(name="low", value=attrgetter("spread.low")),
    Column(name="high", value=attrgetter("spread.high")),
    Column(value=_interval, title="95% interval", shown=attrgetter("detailed")),
    Column(
        name="standing", value=attrgetter("standing"), title="standing", shown=_ranked, align="left"
    ),
    Column(name="p", value=lambda entry: entry.verdict.p if entry.verdict else None),
    Column(name="pairs", value=_pairs),
    Column(
        name="more_seeds",
        value=_more,
        title="more seeds",
        text=lambda entry: Cell(_more(entry) or ""),
        shown=_ranked,
        spare=True,
    ),
    *(Column(name=why, value=_lost(why)) for why in LOST),
    Column(value=lost_text, title="without result", shown=_any_lost, align="left"),
    Column(
        name="parameters",
        value=lambda entry: entry.cost.parameters and entry.cost.parameters[1],
        title="parameters",
        text=lambda entry: _range_text(entry.cost.parameters),
        table="costs",
    ),
    Column(
        name="steps",
        value=lambda entry: entry.cost.steps and entry.cost.steps[1],
        title="steps",
        text=lambda entry: _range_text(entry.cost.steps),
        table="costs",
    ),
    Column(name="seconds", value=attrgetter("cost.seconds"), title="seconds", table="costs"),
    Column(
        name="peak_memory_mb",
        value=attrgetter("cost.peak_memory_mb"),
        title="memory MB",
        table="costs",
    ),
)
"""The columns, in the order in which they are printed and written."""
