"""Files of pairs of texts: two columns of one file, or two files of parallel lines."""

import os
from collections.abc import Iterable, Sequence
from itertools import chain

from attnexp.data.memory import require_memory
from attnexp.runs.records import column_index, lines_text, records, table
from attnexp.runs.sources import read_source
from attnexp.runs.text_files import as_text

BYTES_A_BYTE = 20
"""The memory, in bytes, that a byte of a file takes while it is made into symbols."""

Column = int | str
"""A column: its number, from 1 on, or its name in the first line."""

Files = str | list[str]
"""The path of a file with columns, or those of two files of parallel lines; or the digests."""


def read_pairs(
    path: Files, sha256: Files, source: Column, target: Column
) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the pairs of texts in a file, or in two files of parallel lines, and notes.

    `sha256` has the digest of each file. In a file whose name ends in .csv, commas separate
    columns, and quotes surround cells that hold commas. In any other file tabs separate columns,
    and quotes have no meaning. The first line names the columns if `source` and `target` are names,
    and is a pair if they are numbers. Empty lines are ignored. More than two columns between commas
    must have names. A note says which columns between tabs are not used.

    Of two files, column 1 is the lines of the first and column 2 the lines of the second. A side of
    a pair may be empty.

    Raises ValueError, with the line, for another encoding, for a line of more or fewer cells than
    the first one, and for a cell that ends on a later line. Raises ValueError also for a column
    that is not there, for more than two columns between commas without names, and for two files of
    different length.
    """
    if isinstance(source, str) != isinstance(target, str):
        raise ValueError(
            "source and target must both be names of columns or both be numbers, "
            f"got {source!r} and {target!r}"
        )
    notes = list[str]()
    if isinstance(path, str) and isinstance(sha256, str):
        places, rows, notes = _columns(path, sha256, source, target)
    else:
        places, rows = _parallel(path, sha256, source, target)
    pairs = [(row[places[0]].strip(), row[places[1]].strip()) for row in rows]
    if not pairs:
        raise ValueError(f"{shown(path)} holds no pair of texts")
    return pairs, notes


def shown(path: Files) -> str:
    """Return the path of a file, or of two files, as the setting writes it."""
    return path if isinstance(path, str) else f"[{','.join(path)}]"


def _columns(
    path: str, sha256: str, source: Column, target: Column
) -> tuple[list[int], Iterable[Sequence[str]], list[str]]:
    """Return the indices of the two columns of a file, its rows, and notes.

    Raises ValueError as `read_pairs`.
    """
    separator = "comma" if path.lower().endswith(".csv") else "tab"
    renamed = {"comma": "let its name end in .csv"}
    text = _text(path, sha256)
    first, others = table(path, text, separator, renamed)
    if separator == "comma":
        _check_ends(path, text)
    rows = (record for _, record in others)
    header = [cell.strip() for cell in first]
    if isinstance(source, str) and isinstance(target, str):
        if {source, target}.isdisjoint(header) and all(map(os.path.isfile, (source, target))):
            raise ValueError(
                f"{path} has no columns of the names {source} and {target}, which are files: two "
                f"files of parallel lines are data.path=[{source},{target}]"
            )
        return [column_index(path, header, each) for each in (source, target)], rows, []
    if separator == "comma" and len(header) > 2:
        raise ValueError(
            f"{path}: its first line has {len(header)} cells, separated by commas: put quotes "
            "around texts that hold commas, or names of columns into the first line and into "
            "data.source and data.target"
        )
    what = f"its first line has {len(header)} cells, separated by {separator}s"
    places = [_place(path, each, len(header), what) for each in (source, target) if header]
    unused = [str(place + 1) for place in range(len(header)) if place not in places]
    columns = f"column{'s' * (len(unused) > 1)} {', '.join(unused)}"
    notes = [f"not used: {columns} of {path}"] if unused else []
    return places, chain([header], rows) if header else (), notes


def _check_ends(path: str, text: str) -> None:
    """Raise ValueError, with the lines, for a cell between commas that ends on a later line."""
    open_lines = [
        line
        for line, record in records(path, text, "comma")
        if any("\n" in cell or "\r" in cell for cell in record)
    ]
    if open_lines:
        raise ValueError(
            f"{path}, {lines_text(open_lines)}: a quote that opens here closes on a later line, "
            "and a text has one line: close it here, or write a quote in a quoted text twice"
        )


def _parallel(
    path: Files, sha256: Files, source: Column, target: Column
) -> tuple[list[int], Iterable[Sequence[str]]]:
    """Return the indices of the two files for source and target, and their lines side by side.

    Lines end at line feeds alone, as other programs count them.

    Raises ValueError unless there are two files with equally many lines, and a digest of each.
    """
    if isinstance(path, str) or len(path) != 2:
        number = 1 if isinstance(path, str) else len(path)
        raise ValueError(f"path must be a file, or two files of parallel lines, got {number}")
    if isinstance(sha256, str) or len(sha256) != 2:
        raise ValueError(f"sha256 must be a digest of each file in {shown(path)}, got {sha256!r}")
    what = f"1 is {path[0]}, and 2 is {path[1]}"
    places = [_place(shown(path), each, 2, what) for each in (source, target)]
    texts = (_text(*each) for each in zip(path, sha256, strict=True))
    sides = [text.removesuffix("\n").split("\n") if text else [] for text in texts]
    if len(sides[0]) != len(sides[1]):
        raise ValueError(
            f"{path[0]} has {len(sides[0]):,} lines, and {path[1]} {len(sides[1]):,}: each line of "
            "one must be the translation of the same line of the other"
        )
    return places, zip(*sides, strict=True)


def _text(path: str, sha256: str) -> str:
    content = read_source(path, sha256)
    require_memory(path, BYTES_A_BYTE * len(content))
    return as_text(path, content)


def _place(path: str, column: Column, count: int, what: str) -> int:
    """Return the index of a column with a number.

    Raises ValueError for a name, and for a number outside 1 to `count`.
    """
    if isinstance(column, str) or not 1 <= column <= count:
        raise ValueError(f"{path} has no column {column!r}: {what}")
    return column - 1
