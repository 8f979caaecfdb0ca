"""Files of pairs of texts: two columns of one file, or two files of parallel lines."""

from collections.abc import Iterator, Sequence
from itertools import chain

from attnexp.data.memory import require_memory
from attnexp.runs.records import column_index, table
from attnexp.runs.sources import read_source
from attnexp.runs.text_files import as_text

BYTES_A_BYTE = 20
"""Memory that a byte of a file takes while it is made into symbols."""

Column = int | str
"""A column by its number, from 1 on, or by its name in the first line."""


def read_pairs(path: str, sha256: str, source: Column, target: Column) -> list[tuple[str, str]]:
    """Return the pairs of a file whose content has this digest. A side may be empty.

    In a file whose name ends in .csv commas separate columns, and quotes surround cells that hold
    commas; in any other, tabs do, and quotes have no meaning. The first line names the columns if
    `source` and `target` are names, and is a pair if they are numbers. Each line has as many cells
    as the first one. Empty lines and other columns are ignored.

    Raises ValueError, with the line, for another encoding and a line of more or fewer cells than
    the first one, and for a column that is not there.
    """
    if isinstance(source, str) != isinstance(target, str):
        raise ValueError(
            "source and target must both be names of columns or both be numbers, "
            f"got {source!r} and {target!r}"
        )
    separator = "comma" if path.lower().endswith(".csv") else "tab"
    renamed = {"comma": "let its name end in .csv"}
    first, others = table(path, _text(path, sha256), separator, renamed)
    header = [cell.strip() for cell in first]
    source_place, target_place = (_index(path, header, each) for each in (source, target))
    rows: Iterator[list[str]] = (record for _, record in others)
    if isinstance(source, int) and header:
        needed = max(source_place, target_place) + 1
        if len(header) < needed:
            raise ValueError(
                f"{path}, line 1: {separator}s separate columns, and there is no column {needed}: "
                f"{header[0]!r:.60}"
            )
        rows = chain([header], rows)
    pairs = [(row[source_place].strip(), row[target_place].strip()) for row in rows]
    if not pairs:
        raise ValueError(f"{path} holds no pair of texts")
    return pairs


def _text(path: str, sha256: str) -> str:
    content = read_source(path, sha256)
    require_memory(path, BYTES_A_BYTE * len(content))
    return as_text(path, content)


def _index(path: str, header: Sequence[str], column: Column) -> int:
    """Return the index of a column. Raises ValueError for one that does not exist."""
    if isinstance(column, str):
        return column_index(path, header, column)
    if column < 1:
        raise ValueError(f"the columns of a file are numbered from 1, got {column}")
    return column - 1
