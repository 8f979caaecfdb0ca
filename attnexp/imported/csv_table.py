"""Runs in a CSV file: its first line names the columns, and each other line is a run."""

from pathlib import Path

from attnexp.core.errors import RequestError
from attnexp.imported.outside import (
    OutsideRun,
    Request,
    finite_or_none,
    require_different,
    require_names,
    seed_of,
    value_of,
)
from attnexp.runs.files import read_bytes
from attnexp.runs.records import table
from attnexp.runs.settings import clean
from attnexp.runs.text_files import as_text


def read(path: Path, request: Request) -> list[OutsideRun]:
    """Return the runs of a file.

    The column of the seed may be missing: then each seed is 0. A cell of a setting is a whole
    number, a number, true, false or else text, and an empty one is left out. An empty cell of a
    metric, and NaN, is a metric without a value.

    Raises RequestError, with the line, for a file that is not a table in UTF-8, for columns that
    are not there or have one name, for a cell of the wrong kind, and for two rows with the same
    settings and seed.
    """
    if not request.metrics:
        raise RequestError("a CSV file does not say which columns are metrics: add --metrics A,B")
    try:
        header, rows = table(path, as_text(path, read_bytes(path)))
        lines = list(rows)
    except FileNotFoundError as error:
        raise RequestError(str(error)) from error
    except ValueError as error:
        raise RequestError(str(error)) from error
    if not header:
        raise RequestError(f"{path} is empty: its first line should name its columns")
    if twice := next((name for name in header if header.count(name) > 1), None):
        raise RequestError(f"{path}, line 1: {header.count(twice)} columns are named '{twice}'")
    settings = request.settings or ()
    require_names(settings, header, "column", "--settings")
    require_names(request.metrics, header, "column", "--metrics")
    if request.seed != Request().seed:
        require_names([request.seed], header, "column", "--seed")
    if both := {*settings, request.seed} & set(request.metrics):
        raise RequestError(f"--metrics: '{min(both)}' is a setting or the seed already")
    runs = []
    for line, row in lines:
        where = f"{path}, line {line}"
        cells = dict(zip(header, row, strict=True))
        seed = value_of(cells.get(request.seed, "0"))
        values = {name: value_of(cells[name]) for name in settings if name != request.seed}
        runs.append(
            OutsideRun(
                source=f"line {line} of {clean(path.name)}",
                seed=seed_of(seed, where),
                settings={name: value for name, value in values.items() if value is not None},
                metrics={name: _metric(cells[name], name, where) for name in request.metrics},
            )
        )
    require_different(runs, request.seed)
    return runs


def _metric(cell: str, name: str, where: str) -> float | None:
    try:
        return finite_or_none(float(cell)) if cell.strip() else None
    except ValueError as error:
        raise RequestError(f"{where}: {name} is {cell!r:.60}, and not a number") from error
