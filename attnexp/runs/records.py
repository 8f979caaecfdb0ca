"""The records of files of comma- or tab-separated values, each with its line."""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from attnexp.core.errors import nearest_text


def records(path: Path | str, text: str, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each record, with the line on which it begins. An empty line has none.

    Quotes have no meaning if tabs separate cells. Raises ValueError, with the line, for text that
    is not of this format.
    """
    quote = None if delimiter == "\t" else '"'
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, delimiter=delimiter, quotechar=quote, strict=True)
    line = 1
    try:
        for record in reader:
            yield line, record
            line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{path}, line {line}: it cannot be read: {error}") from error


def table(path: Path | str, text: str) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Return the first record of CSV text and an iterator over the others that are not empty.

    Raises ValueError, with the line, as `records` does, and for a record of another length.
    """
    filled = (each for each in records(path, text) if each[1])
    _, header = next(filled, (1, []))

    def rows() -> Iterator[tuple[int, list[str]]]:
        for line, record in filled:
            if len(record) != len(header):
                raise ValueError(
                    f"{path}, line {line}: it has {len(record)} cells, and the first line "
                    f"{len(header)}; cells are separated by commas"
                )
            yield line, record

    return header, rows()


def column_index(path: Path | str, header: Sequence[str], name: str) -> int:
    """Return the index of a column. Raises ValueError if none or several have the name."""
    if not header:
        raise ValueError(f"{path} is empty: its first line should name its columns")
    if name not in header:
        raise ValueError(
            f"{path} has no column '{name}'.{nearest_text(name, header)} Its first line names "
            f"{', '.join(header)}"
        )
    if header.count(name) > 1:
        raise ValueError(f"{path}, line 1: {header.count(name)} columns are named '{name}'")
    return header.index(name)
