"""Runs in a CSV file: its first line names the columns, and each other line is a run."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from attnexp.core.errors import RequestError
from attnexp.imported import charts
from attnexp.imported.outside import (
    SEED,
    ImportRequest,
    OutsideRun,
    number_in,
    require_names,
    value_of,
)
from attnexp.runs.files import read_bytes
from attnexp.runs.records import table
from attnexp.runs.run_status import Status
from attnexp.runs.settings import clean
from attnexp.runs.text_files import as_text

ENDS = {
    (Status.FINISHED, None): "finished completed complete success succeeded done terminated ok",
    (Status.FAILED, "it had failed"): "failed fail error errored crashed aborted",
    (Status.INTERRUPTED, "it was stopped"): (
        "killed preempted preempting pruned stopped canceled cancelled timeout timed_out"
    ),
    (Status.INTERRUPTED, "it had not ended when it was exported"): (
        "running pending queued scheduled waiting"
    ),
}
STATUSES = {word: end for end, words in ENDS.items() for word in words.split()}
"""The words for the end of a run, and its status and error."""

ENDINGS = ("state", "status")
NAMES = ("name", "run name", "run_name", "run")
"""The columns, in lower case, of the end of a run and of its name."""


@dataclass(frozen=True)
class CsvRuns(Collection[OutsideRun]):
    """The runs of a table, which are made anew each time that they are walked through."""

    path: Path
    text: str
    header: Sequence[str]
    settings: Sequence[str]
    metrics: Sequence[str]
    ending: str | None
    name: str | None
    length: int

    def __len__(self) -> int:
        return self.length

    def __contains__(self, run: object) -> bool:
        return any(run == each for each in self)

    def __iter__(self) -> Iterator[OutsideRun]:
        known = {*self.settings, *self.metrics, self.ending, self.name}
        others = [name for name in self.header if name not in known]
        for line, row in table(self.path, self.text)[1]:
            cells = dict(zip(self.header, row, strict=True))
            status, error = STATUSES[_word(cells[self.ending]) if self.ending else "finished"]
            yield OutsideRun(
                source=f"line {line} of {clean(self.path.name)}",
                settings={name: value_of(cells[name]) for name in self.settings},
                metrics={
                    name: number_in(cells[name], f"{self.path}, line {line}: {name}")
                    for name in self.metrics
                    if cells[name].strip() not in MISSING
                },
                name=cells[self.name] if self.name else None,
                status=status,
                error=error,
                others={name: value_of(cells[name]) for name in others},
            )


MISSING = ("", "None")
"""The cells of a metric that was not measured."""


def read(path: Path, request: ImportRequest) -> tuple[Collection[OutsideRun], list[str]]:
    """Return the runs of a file: one per line, or one per curve of a chart that wandb exported.

    The column of the seed may be missing. A cell of a setting is a whole number, a number, true,
    false or else text, and an empty one is left out. An empty cell of a metric was not measured.
    Blanks around the name of a column do not count. A column `State` or `Status` says how each run
    ended if the words in it do; a column `Name` has names that may tell runs apart.

    Raises RequestError, with the line, for a file that is not a table in UTF-8, for columns that
    are not there or have one name, and for a cell of a metric that is not a number.
    """
    try:
        text = as_text(path, read_bytes(path))
        header, rows = table(path, text)
        header = [name.strip() for name in header]
        if charts.is_chart(header):
            return charts.runs_of(path, header, rows), []
        if not request.metrics:
            raise RequestError(
                "a CSV file does not say which columns are metrics: add --metrics A,B"
            )
        if twice := next((name for name in header if header.count(name) > 1), None):
            raise RequestError(f"{path}, line 1: {header.count(twice)} columns are named '{twice}'")
        if not header:
            raise RequestError(f"{path} is empty: its first line should name its columns")
        require_names(request.metrics, header, "column", "--metrics")
        require_names(request.settings or (), header, "column", "--settings")
        if request.seed != SEED:
            require_names([request.seed], header, "column", "--seed")
        named = {*request.metrics, *(request.settings or ()), request.seed}
        if both := {*(request.settings or ()), request.seed} & {*request.metrics}:
            raise RequestError(f"--metrics: '{min(both)}' is a setting or the seed already")
        free = {name.lower(): name for name in header if name not in named}
        ending = next((free[name] for name in ENDINGS if name in free), None)
        length, endings = 0, set()
        for _, row in rows:
            length += 1
            endings |= {_word(row[header.index(ending)])} if ending else set()
        known = endings & STATUSES.keys()
        if known and (unknown := sorted(endings - known)):
            raise RequestError(
                f"{path}: the column {ending} says how runs ended, and has '{unknown[0]}': choose "
                f"among {', '.join(STATUSES)}, or name it by --settings"
            )
        name = next((free[name] for name in NAMES if name in free), None)
        settings = dict.fromkeys([*(request.settings or ()), *({request.seed} & {*header})])
        kept = ending if known else None
        runs = CsvRuns(path, text, header, [*settings], request.metrics, kept, name, length)
        unread = f"{path}: the column {ending} is not read as the end of each run"
        return runs, [unread] * bool(endings and not known)
    except RequestError:
        raise
    except (FileNotFoundError, ValueError) as error:
        raise RequestError(str(error)) from error


def _word(cell: str) -> str:
    return cell.strip().lower()
