"""The text of reports in any format: cells, heads, captions, and notes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

from attnexp.core.console import count_text, number_text, setting_text
from attnexp.core.errors import RequestError, choices_text, nearest_text, with_choices
from attnexp.core.language import Phrase, Text, joined, said, translate
from attnexp.select.renaming import KEPT, Renaming

NOTHING = "\N{EN DASH}"
"""The text of a cell without a value."""

ROWS = 40
"""The default number of rows on the screen."""

FEW = 4
"""The most values that a sentence lists; further values are counted."""


@dataclass(frozen=True, slots=True)
class GridCell:
    """The text of a cell, and whether it is emphasised.

    `form` is the text with a `{}` for each of its `numbers`, for formats that round differently;
    empty for text without numbers. An `unsure` cell names a row with too few seeds for a verdict.
    """

    text: Phrase
    strong: bool = False
    form: str = ""
    numbers: tuple[float, ...] = ()
    unsure: bool = False


BOLD = said("the best, or tied with it")
"""The meaning of bold cells in most tables."""


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a column.

    If a screen is too narrow, columns with `spare` 1 are left out, then columns with 2. A column
    that `folds` is written once next to the title if all rows have the same value. `word` names the
    column in `--columns`, as the title does. `short` is the title on narrow pages. `measured`
    columns have values of a metric.
    """

    title: Phrase
    right: bool = False
    spare: int = 0
    folds: bool = False
    word: str = ""
    short: Phrase = ""
    measured: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a table: the value of each cell, and its records, one per metric.

    Values are converted by `cell`. A record is a mapping of plain values; all records of a report
    have the same keys. A line without values is only in CSV and JSON, a line without records only
    in the other formats.
    """

    values: Sequence[object] = ()
    records: Sequence[dict[str, object]] = ()


@dataclass(frozen=True)
class Grid:
    """A table with title and caption.

    The first `labels` columns name the row. `common` are the settings that all runs share. `legend`
    explains marks in formats without bold type, and `bold` the bold cells. `omitted` is the number
    of rows that a limit leaves out.
    """

    columns: Sequence[Head]
    lines: Sequence[Line]
    title: Phrase = ""
    caption: Phrase = ""
    common: Sequence[str] = ()
    labels: int = 1
    legend: Phrase = ""
    bold: Phrase = BOLD
    omitted: int = 0

    @cached_property
    def rows(self) -> Sequence[Sequence[GridCell]]:
        """The cells of each line that has values."""
        return [[*map(cell, line.values)] for line in self.lines if line.values]

    def chosen(self, columns: Sequence[Head], kept: Sequence[int]) -> "Grid":
        """Return the table with the columns at the `kept` places, under these heads."""
        lines = [
            replace(line, values=[line.values[i] for i in kept if line.values])
            for line in self.lines
        ]
        return replace(self, columns=columns, lines=lines)

    @property
    def more(self) -> str:
        """A sentence on the number of omitted rows, empty without any."""
        if not self.omitted:
            return ""
        return f"{count_text(self.omitted, 'more row')}: --limit 0 shows all."

    @property
    def full_caption(self) -> Text:
        """The omitted rows, the caption and the legend, followed by the settings in common."""
        caption = joined(" ", filter(None, [self.more, self.caption, self.legend]))
        same = [same_text(", ".join(self.common))] if self.common else []
        return joined("\n", filter(None, [caption, *same]))


class TableOutcome(StrEnum):
    """Whether a required sentence holds in a table."""

    HOLDS = "holds"
    NOT_SHOWN = "not shown"
    FALSE = "false"


EXIT_CODES = {TableOutcome.HOLDS: 0, TableOutcome.NOT_SHOWN: 3, TableOutcome.FALSE: 4}
"""The exit codes of commands that require a sentence or a verdict."""


@dataclass(frozen=True)
class TableAnswer:
    """The answer of a table to a required sentence: the outcome, and the difference behind it."""

    sentence: str
    outcome: TableOutcome
    because: str

    @property
    def text(self) -> str:
        """The answer as a line."""
        return f"{self.outcome}: {self.sentence}: {self.because}"


@dataclass(frozen=True)
class Report:
    """The answer to a request: tables, and sentences about them.

    `verdicts` are the results of comparisons, `notes` what has to be read with the numbers.
    `further` are lesser notes, of which the screen shows the number. `words` are the words of all
    columns that tables may have, printed or not. `required` are the answers to required sentences,
    and `renaming` has the new names of columns.
    """

    grids: Sequence[Grid] = ()
    notes: Sequence[Phrase] = ()
    verdicts: Sequence[Phrase] = ()
    further: Sequence[Phrase] = ()
    words: frozenset[str] = frozenset()
    required: Sequence[TableAnswer] = ()
    renaming: Renaming = KEPT

    @cached_property
    def records(self) -> Sequence[dict[str, object]]:
        """The records of all lines."""
        return [record for grid in self.grids for line in grid.lines for record in line.records]


def cell(value: object) -> GridCell:
    """Return a value as a cell: numbers to four digits, `true`, a dash for a missing value."""
    if isinstance(value, GridCell):
        return value
    if value is None or value != value:
        return GridCell(NOTHING)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return numbers_cell("{}", value)
    return GridCell(setting_text(value))


def numbers_cell(form: str, *numbers: float, strong: bool = False) -> GridCell:
    """Return a cell with numbers, to four digits, in place of each `{}` of a form."""
    return GridCell(form.format(*map(number_text, numbers)), strong, form, numbers)


def folded(grid: Grid, rows: Sequence[Sequence[GridCell]]) -> list[int]:
    """Return the places of columns that fold and have the same text in all of several rows."""
    return [
        i
        for i, head in enumerate(grid.columns)
        if head.folds and len(rows) > 1 and len({row[i].text for row in rows}) == 1
    ]


def column_names(report: Report) -> dict[str, str]:
    """Return the word of each column of the tables, under both its word and its head."""
    heads = [head for grid in report.grids for head in grid.columns]
    titles = {translate(head.title): head.word for head in heads}
    words = {title: word or title for title, word in titles.items()}
    return words | {word: word for word in words.values()}


def with_columns(report: Report, names: Sequence[str]) -> Report:
    """Return a report whose tables have the labels of the rows and the named columns, in order.

    A name is the head of a column, its word, or its original name. A table with none of the columns
    keeps all of its own. Raises RequestError for a name that no table has.
    """
    known = column_names(report)
    names = [name if name in known else report.renaming.title(name) for name in names]
    for name in names:
        if name not in known:
            problem = f"--columns: no table has a column '{name}'"
            choices = f"choose {choices_text(set(known))}"
            raise RequestError(with_choices(problem, nearest_text(name, known), choices))
    return replace(report, grids=[_with_columns(grid, names) for grid in report.grids])


def _with_columns(grid: Grid, names: Sequence[str]) -> Grid:
    named = [
        i
        for name in names
        for i, head in enumerate(grid.columns)
        if name in (head.word, translate(head.title))
    ]
    if not named:
        return grid
    kept = list(dict.fromkeys([*range(grid.labels), *named]))
    heads = [replace(grid.columns[i], folds=False, spare=0) for i in kept]
    return grid.chosen(heads, kept)


def listed(values: Iterable[object]) -> Text:
    """Return the first FEW values and the number of the others, as in `a, b and 3 more`."""
    names = [value if isinstance(value, Text) else str(value) for value in values]
    if len(names) > FEW:
        names = [*names[:FEW], said("{count} more", count=len(names) - FEW)]
    whole = joined("", names[:1])
    for name in names[1:-1]:
        whole = said("{list}, {next}", list=whole, next=name)
    return said("{list} and {last}", list=whole, last=names[-1]) if len(names) > 1 else whole


def same_text(settings: str) -> Text:
    """Return the sentence with the settings that all runs share."""
    return said("The same in every run: {settings}.", settings=settings)
