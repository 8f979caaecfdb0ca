"""Files of two columns of text: tab-separated ones, and CSV."""

from attnexp.data.memory import require_memory
from attnexp.runs.records import column_index, records
from attnexp.runs.sources import read_source
from attnexp.runs.text_files import as_text

BYTES_A_BYTE = 20
"""Memory that a byte of a file takes while it is made into symbols."""

Column = int | str
"""A column by its number, from 1 on, or by its name in the first line."""


def read_pairs(path: str, sha256: str, source: Column, target: Column) -> list[tuple[str, str]]:
    """Return the pairs of a file whose content has this digest.

    In a file whose name ends in .csv commas separate columns, and quotes surround cells that hold
    commas; in any other, tabs do, and quotes have no meaning. The first line names the columns if
    `source` and `target` are names, and is a pair if they are numbers. Empty lines and other
    columns are ignored.

    Raises ValueError, with the line, for another encoding, a line of too few columns and an empty
    side.
    """
    if isinstance(source, str) != isinstance(target, str):
        raise ValueError(
            "source and target must both be names of columns or both be numbers, "
            f"got {source!r} and {target!r}"
        )
    content = read_source(path, sha256)
    require_memory(path, BYTES_A_BYTE * len(content))
    delimiter = "," if path.lower().endswith(".csv") else "\t"
    rows = (
        (line, [cell.strip() for cell in record])
        for line, record in records(path, as_text(path, content), delimiter)
    )
    header = [] if isinstance(source, int) else next(rows, (1, []))[1]
    source_place, target_place = (_index(path, header, each) for each in (source, target))
    needed = max(source_place, target_place) + 1
    pairs: list[tuple[str, str]] = []
    for line, row in rows:
        if not any(row):
            continue
        if len(row) < needed:
            separators = "tabs" if delimiter == "\t" else "commas"
            raise ValueError(
                f"{path}, line {line}: {separators} separate columns, and there is no column "
                f"{needed}: {row[0]!r:.60}"
            )
        pair = (row[source_place], row[target_place])
        if not all(pair):
            side = "target" if pair[0] else "source"
            raise ValueError(f"{path}, line {line}: the {side} is empty")
        pairs.append(pair)
    if not pairs:
        raise ValueError(f"{path} holds no pair of texts")
    return pairs


def _index(path: str, header: list[str], column: Column) -> int:
    """Return the index of a column. Raises ValueError for one that does not exist."""
    if isinstance(column, str):
        return column_index(path, header, column)
    if column < 1:
        raise ValueError(f"the columns of a file are numbered from 1, got {column}")
    return column - 1
