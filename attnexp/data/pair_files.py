"""Files of two columns of text: tab-separated ones, and CSV."""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass

from attnexp.data.memory import require_memory
from attnexp.errors import choices_text
from attnexp.runs.sources import as_text, read_source

LONGEST_LINE = 100_000
"""Letters of a line."""

BYTES_A_BYTE = 20
"""Memory that a byte of a file takes while it is made into symbols."""

CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")
"""Characters that are no text. Tabs and the ends of lines stand between texts."""

Column = int | str
"""A column by its number, from 1 on, or by its name in the first line."""


@dataclass(frozen=True)
class PairFile:
    """The pairs of a file, and what was passed over in it, as sentences."""

    pairs: list[tuple[str, str]]
    notes: list[str]


def read_pairs(path: str, sha256: str, source: Column, target: Column) -> PairFile:
    """Return the pairs of a file whose content has this digest.

    A file whose name ends in .csv has commas between its columns and quotes around what holds
    commas; any other has tabs, and quotes mean nothing in it. Its first line names the columns
    where `source` and `target` are names, and is a pair where they are numbers. Lines without
    anything are passed over.

    Raises ValueError, with the line, for what is not such a file: another encoding, a line of too
    few columns, an empty side, a control character, a line above `LONGEST_LINE`.
    """
    if isinstance(source, str) != isinstance(target, str):
        raise ValueError(
            "source and target must both be names of columns or both be numbers, "
            f"got {source!r} and {target!r}"
        )
    content = read_source(path, sha256)
    require_memory(path, BYTES_A_BYTE * len(content))
    rows = _rows(path, as_text(path, content))
    header = [] if isinstance(source, int) else next(rows, (1, []))[1]
    source_place, target_place = (_place(path, header, each) for each in (source, target))
    needed = max(source_place, target_place) + 1
    pairs: list[tuple[str, str]] = []
    empty = further = 0
    for line, row in rows:
        if not any(row):
            empty += 1
            continue
        if len(row) < needed:
            apart = "commas" if _is_csv(path) else "tabs"
            raise ValueError(
                f"{path}, line {line}: columns stand apart by {apart}, and there is no column "
                f"{needed}: {row[0]!r:.60}"
            )
        pair = (row[source_place], row[target_place])
        if not all(pair):
            side = "target" if pair[0] else "source"
            raise ValueError(f"{path}, line {line}: the {side} is empty")
        further += len(row) > 2
        pairs.append(pair)
    if not pairs:
        raise ValueError(f"{path} holds no pair of texts")
    notes = []
    if empty:
        notes.append(f"lines of {path} without anything, which are passed over: {empty:,}")
    if further and not header:
        notes.append(f"lines of {path} with more columns, which are not read: {further:,}")
    return PairFile(pairs, notes)


def _is_csv(path: str) -> bool:
    return path.lower().endswith(".csv")


def _rows(path: str, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the number of its last line, its cells without space around them."""
    if not _is_csv(path):
        for number, line in enumerate(_lines(path, text), start=1):
            yield number, [cell.strip() for cell in line.split("\t")]
        return
    reader = csv.reader(_lines(path, text), strict=True)
    try:
        for row in reader:
            yield reader.line_num, [cell.strip() for cell in row]
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: it is not CSV: {error}") from error


def _lines(path: str, text: str) -> Iterator[str]:
    """Yield each line with one end. Raises ValueError for one that is too long or is no text."""
    for number, line in enumerate(io.StringIO(text, newline="\n"), start=1):
        if len(line) > LONGEST_LINE:
            raise ValueError(
                f"{path}, line {number}: it has {len(line):,} letters, and a line may have at most "
                f"{LONGEST_LINE:,}"
            )
        own = line.rstrip("\r\n")
        if found := CONTROL.search(own):
            raise ValueError(
                f"{path}, line {number}: letter {found.start() + 1} is the control character "
                f"U+{ord(found[0]):04X}, which is no text"
            )
        yield own + "\n"


def _place(path: str, header: list[str], column: Column) -> int:
    """Return the index of a column. Raises ValueError for one that there is not."""
    if isinstance(column, int):
        if column < 1:
            raise ValueError(f"the columns of a file are numbered from 1, got {column}")
        return column - 1
    if column not in header:
        raise ValueError(
            f"{path}, line 1: there is no column {column!r}: the columns are "
            f"{choices_text(map(repr, header))}"
        )
    return header.index(column)
