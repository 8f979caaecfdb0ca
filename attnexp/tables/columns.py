"""The columns of the tables of configurations, each declared once.

Printed tables, CSV and JSON all take their columns from COLUMNS.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from attnexp.core.language import LANGUAGES, Phrase, in_language, said, translate
from attnexp.runs.probed import FACTS
from attnexp.runs.user_code import NO_CODE
from attnexp.select.judge import modes_of
from attnexp.select.renaming import Renaming
from attnexp.select.sample import DATA_SETS, SEEDS, SPLITS
from attnexp.stats.compare import Difference, Word
from attnexp.stats.scaled import mean
from attnexp.tables.entries import LOST, ResultsTable, TableEntry, lost_text
from attnexp.tables.grid import NOTHING, GridCell, numbers_cell

STANDINGS = {
    Word.BEST: said("best"),
    Word.WORSE: said("worse"),
    Word.EQUAL: said("equal"),
    Word.TIED: said("tied"),
    Word.ONE_SEED: said("one seed"),
    Word.ALONE: said("alone"),
}
"""The printed words of standings."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column: the value for an entry, which is a row and a metric, and the layout in print.

    - `value` returns a plain value for CSV and JSON, where the column is `name`; without a name the
      column is only printed.
    - `text` returns the printed text; by default numbers have four digits.
    - `title` is the printed head, in which `{metric}`, `{units}` or `{difference}` is replaced.
      Without a title the column is not printed. `short` is the head in narrow print, and `word` the
      word for `--columns`, by default the name.
    - `table` is the table with the column, if `shown` returns True.
    - `each` repeats the column for every metric of the table.
    - An `on_request` column is printed only if named.
    - A `sparse` column is not printed if no row has a value, and a `rare` column is then not in CSV
      and JSON. A column that `folds` is written once if all rows have the same value.
    - `align` is the alignment. A `spare` column is left out first if the table is too wide.
    - `fact` is the column of the frame that the column summarizes: if renamed, both have the new
      name. `nothing` is the value of a row without a fact.
    """

    value: Callable[[TableEntry], object]
    name: str = ""
    title: Phrase = ""
    short: Phrase = ""
    word: str = ""
    text: Callable[[TableEntry], object] | None = None
    table: Literal["results", "costs"] = "results"
    shown: Callable[[ResultsTable], bool] = lambda table: True
    each: bool = False
    align: Literal["left", "right"] = "right"
    spare: int = 0
    sparse: bool = False
    rare: bool = False
    folds: bool = False
    on_request: bool = False
    fact: str = ""
    nothing: object = None

    def is_empty(self, entry: TableEntry) -> bool:
        """Return whether an entry has no value in the column."""
        return self.value(entry) in (None, self.nothing)

    def renamed(self, renaming: Renaming) -> str:
        """Return the new name of the column's fact, empty without one."""
        title = renaming.title(self.fact)
        return "" if title == self.fact else title


def _mean(entry: TableEntry) -> GridCell:
    """Return mean and deviation, and a star if the row is ahead."""
    own = entry.spread
    if own.mean is None:
        return GridCell(NOTHING)
    if own.sd is None:
        return numbers_cell("{}", own.mean)
    form = "{} ± {} *" if entry.ahead else "{} ± {}"
    return numbers_cell(form, own.mean, own.sd, strong=entry.ahead)


def _mean_alone(entry: TableEntry) -> GridCell:
    mean = entry.spread.mean
    return GridCell(NOTHING) if mean is None else numbers_cell("{}", mean, strong=entry.ahead)


def _lost_text(entry: TableEntry) -> GridCell | None:
    """Return the number of runs of a row without a result, by reason."""
    return GridCell(lost_text(entry.lost)) if any(entry.lost.values()) else None


def _interval(entry: TableEntry) -> GridCell:
    low, high = entry.spread.interval
    if low is None or high is None:
        return GridCell(NOTHING)
    return numbers_cell("[{}, {}]", low, high)


def standing_text(entry: TableEntry) -> Phrase | None:
    """Return the verdict on a row in both languages, or None."""
    word = entry.standing.word
    return entry.verdict if word is None else STANDINGS.get(word, entry.verdict)


def _standing(entry: TableEntry) -> GridCell | None:
    text = standing_text(entry)
    return None if text is None else GridCell(text)


def _ranked(table: ResultsTable) -> bool:
    return table.detailed and table.metrics[0] in table.frame.better


def _one_metric(table: ResultsTable) -> bool:
    return len(table.metrics) == 1


def _several(table: ResultsTable) -> bool:
    return bool(table.metrics) and not table.detailed


def _companion(head: Phrase, rare: bool = False) -> Column:
    """Return the column of companions with this head: metrics shown next to other metrics."""
    english = in_language(head, "en")
    return Column(
        rare=rare,
        folds=True,
        name=english.replace(" ", "_"),
        value=lambda entry: entry.sample and entry.sample.companions.get(english),
        title=head,
        each=True,
        spare=1,
        sparse=True,
    )


def difference_cell(found: Difference | None) -> GridCell | None:
    """Return a mean difference with the interval, if that is finite."""
    if found is None:
        return None
    if not math.isfinite(found.low):
        return numbers_cell("{}", found.mean)
    return numbers_cell("{} [{}, {}]", found.mean, found.low, found.high)


def _ahead(entry: TableEntry) -> GridCell | None:
    """Return on how many seeds a row is better than the best row."""
    found = entry.standing.difference
    return None if found is None else _share(found.better, found.pairs)


def _share(part: int, whole: int) -> GridCell:
    return GridCell(said("{place} of {count}", place=part, count=whole))


def _learned(entry: TableEntry) -> GridCell | None:
    """Return how many seeds learned, if some learned and some failed."""
    modes = modes_of(entry.sample)
    return _share(len(modes.learned), modes.n) if modes is not None and modes.are_two else None


def _difference(what: str) -> Column:
    """Return the column of a field of the difference, for CSV and JSON alone."""
    names = {"better": "better_on", "pairs": "pairs"}
    return Column(
        name=names.get(what, f"difference_{what}"),
        value=lambda entry: getattr(entry.standing.difference, what, None),
    )


def _lost(why: str) -> Column:
    return Column(name=why, value=lambda entry: entry.lost[why])


def _cost(name: str, over_runs: Callable[[NDArray[np.float64]], float], title: str = "") -> Column:
    """Return the column of a cost, over the finished runs of a row."""

    def value(entry: TableEntry) -> float | None:
        costs = entry.row.costs(name)
        return over_runs(costs) if costs.size else None

    return Column(name=name, value=value, title=title or name, table="costs", fact=name)


def _of_code(fact: str, name: str = "") -> Column:
    """Return the column of a fact about the code of the runs of a row."""

    def value(entry: TableEntry) -> str | None:
        if fact in entry.row.labels:
            return None
        runs = entry.row.runs
        found = [one for one in dict.fromkeys(runs.data[fact]) if one is not None]
        several = [one for one in found if one != NO_CODE] or found
        return ", ".join(str(runs.shown(fact, one)) for one in several) or None

    return Column(
        value=value,
        name=name,
        title=fact,
        word=fact,
        align="left",
        sparse=True,
        rare=True,
        on_request=True,
        fact=fact,
        nothing=NO_CODE,
    )


def _most(costs: NDArray[np.float64]) -> int:
    return int(costs.max())


COLUMNS = (
    Column(name="metric", value=attrgetter("title")),
    Column(name="better", value=attrgetter("better")),
    Column(name="n", value=attrgetter("spread.n"), title="{units}", word="seeds", folds=True),
    Column(
        value=_lost_text,
        title=said("without result"),
        short=said("no result"),
        align="left",
        sparse=True,
        spare=2,
    ),
    Column(
        name="mean",
        value=attrgetter("spread.mean"),
        title="{metric}",
        text=_mean_alone,
        shown=attrgetter("detailed"),
    ),
    Column(value=_mean, title="{metric}", word="mean", shown=_several, each=True),
    Column(name="low", value=attrgetter("spread.low")),
    Column(name="high", value=attrgetter("spread.high")),
    Column(
        value=_interval,
        title=said("95% interval"),
        short=said("95% CI"),
        word="interval",
        shown=attrgetter("detailed"),
        spare=2,
    ),
    Column(
        name="standing",
        value=lambda entry: in_language(entry.verdict, "en"),
        text=_standing,
        title=said("standing"),
        shown=_ranked,
        align="left",
    ),
    _companion(said("all heads")),
    _companion(said("chance")),
    Column(
        name="sd",
        value=attrgetter("spread.sd"),
        title=said("sd"),
        shown=attrgetter("detailed"),
        spare=1,
    ),
    Column(
        value=lambda entry: difference_cell(entry.standing.difference),
        title="{difference}",
        short="{short difference}",
        word="difference",
        shown=_one_metric,
        spare=1,
        sparse=True,
    ),
    Column(value=_ahead, title=said("better on"), shown=_ranked, spare=1, sparse=True),
    Column(value=_learned, title=said("learned"), shown=_ranked, align="left", sparse=True),
    *(_companion(head, rare=True) for head in FACTS.values()),
    Column(name="fixed_by", value=attrgetter("fixed_by"), rare=True, fact="fixed_by"),
    _of_code("code", name="code"),
    _of_code("commit"),
    Column(name="p", value=attrgetter("standing.p")),
    *map(_difference, ("mean", "low", "high", "better", "pairs")),
    *map(_lost, LOST),
    _cost("parameters", _most),
    _cost("steps", _most),
    _cost("seconds", mean),
    _cost("peak_memory_mb", max, title="memory MB"),
)
"""The columns in order."""

WORDS = frozenset(one.word or one.name or translate(one.title) for one in COLUMNS if one.title)

FIXED = frozenset(
    in_language(text, language)
    for language in LANGUAGES
    for text in (
        *(unit.many for unit in (SEEDS, DATA_SETS, SPLITS)),
        *(text for one in COLUMNS for text in (one.name, one.word, one.title, one.short)),
    )
)
"""The names and heads of COLUMNS in every language: other columns may not be renamed to these."""
