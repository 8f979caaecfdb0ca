"""A table of the user's own: regression on the columns of a CSV file."""

import math
import re
from array import array
from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from attnexp.core.errors import shortened_value
from attnexp.data.memory import require_memory
from attnexp.data.tabular import Tabular
from attnexp.runs.records import SEPARATORS, column_index, table
from attnexp.runs.sources import read_source
from attnexp.runs.text_files import as_text

BYTES_A_CELL = 60
"""Memory that a cell takes while a file is read and made into tensors, in bytes."""

Separator = Literal["semicolon", "tab", "bar"]
"""The names of separators of cells, the comma left out."""

SHOWN = 40
"""Characters of a cell that messages show."""


class Table(Tabular):
    """The columns `x` and `y` of a CSV file, a share `test` of its rows held out. See `Tabular`.

    The file is UTF-8 text with names in its first line, and cells separated by commas or by the
    `separator`. Only the columns that are named are read, and each of their cells must hold a
    finite number. `sha256` is the digest of the content, see `attnexp.runs.sources`.

    Raises ValueError, with the line, for a file that is not such a table, for columns that it does
    not have, and for more rows than fit into the memory that is available.
    """

    def __init__(
        self,
        generator: torch.Generator,
        path: str,
        sha256: str,
        x: list[str],
        y: str,
        test: float = 0.2,
        separator: Separator | None = None,
    ) -> None:
        names = [*x, y]
        if not x:
            raise ValueError("x must name at least one column, got []")
        if repeated := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"column '{repeated}' is named twice in x and y: name each once")
        rows = read_columns(path, read_source(path, sha256), names, separator)
        try:
            super().__init__(generator, rows, x, y, test)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error


def read_columns(
    path: str, content: bytes, names: Sequence[str], separator: Separator | None
) -> NDArray[np.float64]:
    """Return the columns of these names, (rows, columns), from the content of a file.

    Commas separate its cells if `separator` is None. Empty lines are left out. Raises ValueError,
    with the line, for a file that is not a table, and for a column or a number that is not there.
    """
    lines = content.count(b"\n")
    require_memory(f"about {lines:,} rows of {path}", BYTES_A_CELL * lines * len(names))
    settings = {name: f"add data.separator={name}" for name in SEPARATORS}
    settings["comma"] = "leave out data.separator"
    header, rows = table(path, as_text(path, content), separator or "comma", settings)
    places = [column_index(path, header, name) for name in names]
    numbers = array("d")
    for line, record in rows:
        for name, place in zip(names, places, strict=True):
            number = _number(record[place])
            if not math.isfinite(number):
                shown = shortened_value(record[place], SHOWN)
                decimal = re.fullmatch(r"\s*[-+]?\d+,\d+\s*", record[place])
                remedy = "write 0.5 for 0,5" if decimal else "leave such rows out, or fill them"
                raise ValueError(
                    f"{path}, line {line}: column '{name}' is '{shown}', "
                    f"which is not a finite number: {remedy}"
                )
            numbers.append(number)
    return np.array(numbers).reshape(-1, len(names))


def _number(cell: str) -> float:
    """Return the number in a cell, or NaN if there is none."""
    try:
        return math.nan if "_" in cell else float(cell)
    except ValueError:
        return math.nan
