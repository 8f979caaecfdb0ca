"""The tables of an SQLite database of others, which are read and never written."""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from attnexp.core.errors import RequestError
from attnexp.runs.files import is_special


class Database:
    """An open database. Its schema may be anybody's: only plain tables are read."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection
        found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        self._tables = {name for (name,) in found}

    def rows(
        self, table: str, columns: Sequence[str], optional: Sequence[str] = (), order: str = "rowid"
    ) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table, with None in optional columns that it does not have.

        Raises RequestError if the table or a column is not there.
        """
        there = self.columns(table)
        if missing := [name for name in columns if name not in there]:
            raise RequestError(f"{self._path} has no table {table} with a column {missing[0]}")
        read = [name for name in (*columns, *optional) if name in there]
        quoted = ", ".join(f'"{name}"' for name in read)
        for row in self._connection.execute(f'SELECT {quoted} FROM "{table}" ORDER BY {order}'):
            yield {**dict.fromkeys(optional), **dict(zip(read, row, strict=True))}

    def columns(self, table: str) -> list[str]:
        """Return the names of the columns of a table, none if there is no such table."""
        if table not in self._tables:
            return []
        return [row[1] for row in self._connection.execute(f'PRAGMA table_info("{table}")')]


@contextmanager
def opened(path: Path) -> Iterator[Database]:
    """Open a database for reading. Raises RequestError for a file that is not one, or damaged."""
    if is_special(path):
        raise RequestError(f"{path} is not a file")
    try:
        address = f"file:{quote(str(path.resolve()))}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as connection:
            connection.text_factory = lambda text: text.decode(errors="replace")
            connection.execute("PRAGMA trusted_schema = OFF")
            yield Database(path, connection)
    except (sqlite3.Error, OverflowError) as error:
        raise RequestError(f"{path} cannot be read as an SQLite database: {error}") from error


def json_object(text: object, where: str) -> Mapping[str, Any]:
    """Return an object that is written as JSON. Raises RequestError for anything else."""
    try:
        found = json.loads(text) if isinstance(text, str | bytes) else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise RequestError(f"{where} is damaged: {text!r:.60} is not an object of JSON")
    return found
