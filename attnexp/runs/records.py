"""The records of files of separated values, each with its line."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from attnexp.core.errors import nearest_text

SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}

SHOWN = 3
"""The most further lines that a message names behind the first one."""

csv.field_size_limit(2**31 - 1)  # the limit of the process, which would refuse a long text


def records(
    path: Path | str, text: str, separator: str, exact: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the first line of each record, and its cells: none for an empty line.

    `separator` is a name of `SEPARATORS`. If tabs separate cells, quotes have no meaning. Blanks
    before a cell are dropped, so that a quote may follow them, unless the text is `exact`, as
    attnexp writes it.

    Raises ValueError, with the line, for text that is not of this format.
    """
    lines = io.StringIO(text, newline="")
    reader = csv.reader(
        lines,
        delimiter=SEPARATORS[separator],
        quotechar=_quote(separator),
        skipinitialspace=not exact,
        strict=True,
    )
    line = 1
    try:
        for record in reader:
            yield line, record
            line = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(f"{path}, line {line}: it cannot be read: {error}") from error


def table(
    path: Path | str,
    text: str,
    separator: str = "comma",
    remedies: Mapping[str, str] | None = None,
    exact: bool = False,
) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Return the first record of a text, and an iterator over the others that are not empty.

    `remedies` has, by the name of a separator, what else helps with a text of that separator.
    `exact` is as in `records`.

    Raises ValueError for text whose first lines are separated by another separator. The iterator
    raises ValueError, with the lines, for records of another length than the first, and as
    `records`.
    """
    if other := _other_separator(text, separator):
        further = f", or {remedies[other]}" if remedies and other in remedies else ""
        raise ValueError(
            f"{path}: its columns seem to be separated by {other}s: save it with {separator}s"
            f"{further}"
        )
    filled = (each for each in records(path, text, separator, exact) if each[1])
    _, header = next(filled, (1, []))

    def rows() -> Iterator[tuple[int, list[str]]]:
        unlike: dict[int, int] = {}
        for line, record in filled:
            if len(record) == len(header):
                if not unlike:
                    yield line, record
            elif len(record) > 1 or record[0].strip():
                unlike[line] = len(record)
        if unlike:
            cells = next(iter(unlike.values()))
            raise ValueError(
                f"{path}, {lines_text(unlike)}: it has {cells} cells, and the first line "
                f"{len(header)}; cells are separated by {separator}s"
            )

    return header, rows()


def lines_text(lines: Iterable[int]) -> str:
    """Return the first of several lines and a few of the others, as in `line 3 (also 5 and 9)`."""
    first, *others = lines
    shown = [str(line) for line in others[:SHOWN]]
    if left := len(others) - len(shown):
        shown.append(f"{left:,} more")
    *earlier, last = shown or [""]
    also = f"{', '.join(earlier)} and {last}" if earlier else last
    return f"line {first}" + (f" (also {also})" if also else "")


def _other_separator(text: str, separator: str) -> str | None:
    """Return the separator that a text seems to have in place of the given one, None without one.

    That is the one that splits the first two lines into the same number of cells, at least two.
    None also if the given separator splits both lines.
    """
    beginning = re.match(r"[\r\n]*([^\r\n]*)[\r\n]*([^\r\n]*)", text)
    lines = list(filter(None, beginning.groups())) if beginning else []

    def widths(name: str) -> set[int]:
        delimiter, quote = SEPARATORS[name], _quote(name)
        return {
            len(cells)
            for line in lines
            for cells in csv.reader(
                [line], delimiter=delimiter, quotechar=quote, skipinitialspace=True
            )
        }

    if not lines or min(widths(separator)) > 1:
        return None
    several = ((name, widths(name)) for name in SEPARATORS)
    return next((name for name, found in several if len(found) == 1 and min(found) > 1), None)


def _quote(separator: str) -> str | None:
    return None if separator == "tab" else '"'


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
