"""A table of one's own: regression on the columns of a CSV file."""

import csv
import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from attnexp.data.memory import require_memory
from attnexp.data.tabular import Tabular
from attnexp.errors import nearest_text, shortened
from attnexp.runs.sources import read_source

BYTES_A_CELL = 60
"""Memory that a cell takes while a file is read and made into tensors, in bytes."""

SHOWN = 40
"""Letters of a cell that messages show."""


class Table(Tabular):
    """The columns `x` and `y` of a CSV file, a share `test` of its rows held out. See `Tabular`.

    The file is UTF-8 text with names in its first line and commas between its cells. Only the
    columns that are named are read, and each of their cells must hold a finite number. `sha256` is
    the digest of the content, see `attnexp.runs.sources`.

    Raises ValueError, with the line, for a file that is not such a table, for columns that it does
    not have, and for more rows than the memory that is available has room for.
    """

    def __init__(
        self,
        generator: torch.Generator,
        path: str,
        sha256: str,
        x: list[str],
        y: str,
        test: float = 0.2,
    ) -> None:
        names = [*x, y]
        if not x:
            raise ValueError("x must name at least one column, got []")
        if repeated := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"column '{repeated}' is named twice in x and y: each may stand once")
        rows = read_columns(path, read_source(path, sha256), names)
        try:
            super().__init__(generator, rows, x, y, test)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error


def read_columns(path: str, content: bytes, names: Sequence[str]) -> NDArray[np.float64]:
    """Return the columns of these names, (rows, columns), from the content of a CSV file.

    Raises ValueError, with the line, for what is not a table or lacks a column or a number.
    """
    import pandas as pd

    text = _text(path, content)
    header = _header(path, text, names)
    lines = content.count(b"\n")
    require_memory(f"about {lines:,} rows of {path}", BYTES_A_CELL * lines * len(names))
    try:
        frame = pd.read_csv(
            io.StringIO(text, newline=""),
            usecols=[header.index(name) for name in names],
            dtype=np.float64,
            skip_blank_lines=True,
        )
        rows = frame[list(names)].to_numpy()
        if isinstance(frame.index, pd.RangeIndex) and np.isfinite(rows).all():
            return rows
    except (ValueError, KeyError):
        pass  # the line at fault is looked for
    raise ValueError(_fault(path, text, header, names))


def _text(path: str, content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ValueError(f"{path}, line {line}: not UTF-8 text; save the table as UTF-8") from error
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise ValueError(f"{path}, line {line}: not a CSV file, it holds a byte of value 0")
    return text


def _header(path: str, text: str, names: Sequence[str]) -> list[str]:
    """Return the names of the columns. Raises ValueError where one that is asked for is not one."""
    try:
        header = next(_records(text), [])
    except csv.Error as error:
        raise ValueError(f"{path}, line 1: not a CSV file: {error}") from error
    if not header:
        raise ValueError(f"{path} is empty: the names of its columns stand in the first line")
    for name in names:
        if name not in header:
            raise ValueError(
                f"{path} has no column '{name}'.{nearest_text(name, header)} Its first line names "
                f"{', '.join(header)}"
            )
        if header.count(name) > 1:
            raise ValueError(f"{path}, line 1: {header.count(name)} columns are named '{name}'")
    return header


def _fault(path: str, text: str, header: Sequence[str], names: Sequence[str]) -> str:
    """Return what is wrong with a table of which not all cells are finite numbers."""
    wanted = {name: header.index(name) for name in names}
    records = _records(text)
    line = 1
    try:
        for record in records:
            if line > 1 and record:
                if len(record) != len(header):
                    return (
                        f"{path}, line {line}: it has {len(record)} cells, and the first line "
                        f"{len(header)}; cells are separated by commas"
                    )
                for name, place in wanted.items():
                    if why := _unlike_a_number(record[place]):
                        return f"{path}, line {line}: column '{name}' {why}"
            line = records.line_num + 1
    except csv.Error as error:
        return f"{path}, line {line}: not a CSV file: {error}"
    return f"{path} cannot be read as a table of numbers"


def _records(text: str) -> Any:
    return csv.reader(io.StringIO(text, newline=""), strict=True)


def _unlike_a_number(cell: str) -> str:
    """Return what a cell is in place of a finite number, or nothing where it is one."""
    try:
        number = math.nan if "_" in cell else float(cell)
    except ValueError:
        number = math.nan
    if math.isfinite(number):
        return ""
    if not cell.strip():
        return "is empty: leave such rows out, or fill them"
    if math.isinf(number):
        return f"is {shortened(cell, SHOWN)}, which is not a finite number"
    return f"is '{shortened(cell, SHOWN)}', which is not a number"
