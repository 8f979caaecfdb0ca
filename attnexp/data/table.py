"""A table of the user's own: regression on the columns of a CSV file."""

import math
import re
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch

from attnexp.core.errors import shortened_value
from attnexp.data.memory import require_memory
from attnexp.data.tabular import Rows, Tabular, last_split, random_split
from attnexp.runs.records import SEPARATORS, column_index, lines_text, table
from attnexp.runs.sources import read_source
from attnexp.runs.text_files import as_text

BYTES_A_CELL = 60
"""The memory, in bytes, that a cell takes while a file is read and made into tensors."""

Separator = Literal["semicolon", "tab", "bar"]
"""The names of separators of cells, without the comma."""

Split = Literal["random", "last"]

SHARE = 0.2
"""The share of the rows that is held out if `test` is None."""

ALONE = "the seed is of the model alone"

SHOWN = 40
"""The most characters of a cell that a message shows."""


class Table(Tabular):
    """The columns `x` and `y` of a CSV file, some of its rows held out for the test. See `Tabular`.

    The file is UTF-8 text with names in its first line, and cells separated by commas or by the
    `separator`. Only the columns that are named are read, and each of their cells must hold a
    finite number. Blanks around a name and before a cell do not count. `sha256` is the digest of
    the content, see `attnexp.runs.sources`.

    A share `test` of the rows is held out, 0.2 if it is None: at random by the seed, or, if `split`
    is `last`, those with the largest values of the first `x`. A row that equals the least of these
    in it is tested too, so that every training row lies before every test row. Or the test rows are
    those of a file of the same form, `test_path` with the digest `test_sha256`, and all rows of
    `path` train. There are no validation rows: training is leave-one-out.

    Raises ValueError, with the line, for a file that is not such a table, for columns that it does
    not have, and for more rows than fit into the memory that is available; for a setting that
    another one leaves without effect; and for a file for the test whose rows all train.
    """

    def __init__(
        self,
        generator: torch.Generator,
        path: str,
        sha256: str,
        x: list[str],
        y: str,
        test: float | None = None,
        split: Split = "random",
        test_path: str | None = None,
        test_sha256: str | None = None,
        separator: Separator | None = None,
    ) -> None:
        x, y = [name.strip() for name in x], y.strip()
        names = [*x, y]
        if not x:
            raise ValueError("x must name at least one column, got []")
        if repeated := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"column '{repeated}' is named twice in x and y: name each once")
        _refuse_without_effect(test, split, test_path, test_sha256)
        rows = read_columns(path, read_source(path, sha256), names, separator)
        own = None
        if test_path is not None:
            content = read_source(test_path, test_sha256)
            own = read_columns(test_path, content, names, separator)
            self.notes = _notes_on_tested(test_path, own, path, rows)
        try:
            tested, trained = _sets(rows, own, split, SHARE if test is None else test, x, generator)
            super().__init__(tested, trained, x, y)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        if own is not None or split == "last":
            self.overlap = 0.0  # seeds do not split the rows
        if split == "last":
            self.notes = (
                f"{ALONE}: data.split=last tests on the {len(tested):,} of {len(rows):,} rows with "
                f"{x[0]}={tested[0, 0]:.15g} or more",
            )

    @classmethod
    def fixed_by(cls, settings: Mapping[str, Any]) -> str | None:
        """Return the setting because of which no seed splits the rows, None without one."""
        if settings.get("test_path") is not None:
            return "data.test_path"
        return "data.split=last" if settings.get("split") == "last" else None


def _refuse_without_effect(
    test: float | None, split: Split, test_path: str | None, test_sha256: str | None
) -> None:
    """Raise ValueError for a setting that has no effect next to another one."""
    given = [f"data.test={test}"] if test is not None else []
    given += ["data.split=last"] if split == "last" else []
    if test_path is None and test_sha256 is not None:
        raise ValueError("data.test_sha256 has no effect without data.test_path: leave it out")
    if test_path is not None and given:
        raise ValueError(
            f"{given[0]} has no effect with data.test_path={test_path}, whose rows are all of the "
            "test: leave out one of them"
        )


def _sets(
    rows: Rows,
    own: Rows | None,
    split: Split,
    test: float,
    x: Sequence[str],
    generator: torch.Generator,
) -> tuple[Rows, Rows]:
    """Return the rows to test on, and those to train on. `own` are rows of a file for the test."""
    if own is not None:
        return own, rows
    if split == "last":
        return last_split(rows, test, x[0])
    return random_split(rows, test, generator)


def _notes_on_tested(test_path: str, tested: Rows, path: str, trained: Rows) -> tuple[str, ...]:
    """Return notes on a file for the test: that no seed draws its rows, and how many also train.

    Raises ValueError if the file has no rows, or if all its rows train too.
    """
    if not len(tested):
        raise ValueError(f"{test_path} has no rows below the names of its columns")
    own = [row.tobytes() for row in tested]
    known = set(own).intersection(row.tobytes() for row in trained)
    seen = sum(row in known for row in own)
    if seen == len(own):
        raise ValueError(
            f"every row of {test_path} is a row of {path} too: name a file of rows that do not "
            "train as data.test_path"
        )
    alone = f"{ALONE}: data.test_path tests on the {len(own):,} rows of {test_path}"
    too = f"{seen:,} of the {len(own):,} rows of {test_path} are rows of {path} too, which train"
    return (alone, too) if seen else (alone,)


def read_columns(
    path: str, content: bytes, names: Sequence[str], separator: Separator | None
) -> Rows:
    """Return the columns of these names, (rows, columns), from the content of a file.

    Commas separate cells if `separator` is None. Empty lines are left out.

    Raises ValueError, with the lines, for a file that is not a table, for a column that is not
    there, and for a cell that is not a finite number.
    """
    lines = content.count(b"\n")
    require_memory(f"about {lines:,} rows of {path}", BYTES_A_CELL * lines * len(names))
    settings = {name: f"add data.separator={name}" for name in SEPARATORS}
    settings["comma"] = "leave out data.separator"
    header, rows = table(path, as_text(path, content), separator or "comma", settings)
    header = [name.strip() for name in header]
    places = [column_index(path, header, name) for name in names]
    numbers, others = array("d"), dict[int, tuple[str, str]]()
    for line, record in rows:
        for name, place in zip(names, places, strict=True):
            number = _number(record[place])
            numbers.append(number)
            if not math.isfinite(number):
                others.setdefault(line, (name, record[place]))
    if others:
        name, cell = next(iter(others.values()))
        decimal = re.fullmatch(r"\s*[-+]?\d+,\d+\s*", cell)
        remedy = "write 0.5 for 0,5" if decimal else "leave such rows out, or fill them"
        raise ValueError(
            f"{path}, {lines_text(others)}: column '{name}' is '{shortened_value(cell, SHOWN)}', "
            f"which is not a finite number: {remedy}"
        )
    return np.array(numbers).reshape(-1, len(names))


def _number(cell: str) -> float:
    """Return the number in a cell, NaN if the cell holds no number."""
    try:
        return math.nan if "_" in cell else float(cell)
    except ValueError:
        return math.nan
