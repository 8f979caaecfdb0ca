"""The files of a run folder: their names, and how they are written and read.

Files appear whole or not at all: they are written under another name, synced, and renamed. Only
`metrics.csv` and the log grow line by line; a reader drops a last line that was cut short. Nothing
is pickled. This module imports neither torch nor pandas.
"""

import csv
import io
import json
import math
import os
import secrets
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from numpy.typing import NDArray

SUMMARY = "summary.json"
METRICS = "metrics.csv"
ATTENTION = "attention.safetensors"
SNAPSHOTS = "attention_snapshots.safetensors"
PREDICTIONS = "predictions.csv"
MODEL = "model.safetensors"
CHECKPOINT = "checkpoint.safetensors"
FIGURES = "figures"
ASIDE = ".tmp"
METADATA = "attnexp"


class UnreadableRunError(Exception):
    """The folder does not hold a run that this version can read. The text says why."""


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, replacing what was there."""
    aside = path.with_name(f".{path.name}.{secrets.token_hex(4)}{ASIDE}")
    try:
        with aside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON that any reader takes: NaN and infinities become null, broken letters `?`."""
    text = json.dumps(finite(content), indent=2, ensure_ascii=False, allow_nan=False)
    write_bytes(path, (text + "\n").encode(errors="replace"))


def finite(value: Any) -> Any:
    """Return a nested value as JSON can hold it: NaN and infinities become None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [finite(entry) for entry in value]
    return value


def write_rows(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write a CSV file with the keys of the first row as its header."""
    text = io.StringIO()
    if rows:
        writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    write_bytes(path, text.getvalue().encode())


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file of `write_rows` as text; none where there is no file."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    return list(csv.DictReader(io.StringIO(text, newline="")))


def write_tensors(
    path: Path, tensors: Mapping[str, "NDArray[Any]"], metadata: Mapping[str, object]
) -> None:
    """Write a safetensors file; the metadata are stored as JSON text.

    They stand under one key, because safetensors writes several in an order that changes.
    """
    from safetensors.numpy import save

    text = json.dumps(metadata, ensure_ascii=False)
    write_bytes(path, save(dict(tensors), metadata={METADATA: text}))


def read_tensors(path: Path) -> tuple[dict[str, "NDArray[Any]"], dict[str, Any]]:
    """Return the arrays and the metadata of a file that `write_tensors` wrote.

    Raises FileNotFoundError where there is none, and UnreadableRunError for any other content.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
            metadata = json.loads((file.metadata() or {}).get(METADATA, "{}"))
    except (SafetensorError, ValueError) as error:
        raise UnreadableRunError(f"{path} cannot be read: {error}") from error
    return arrays, metadata


class MetricsFile:
    """metrics.csv, a row an epoch, each written as soon as it is known."""

    def __init__(self, folder: Path) -> None:
        self._file: TextIO = (folder / METRICS).open("w", newline="", encoding="utf-8")
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._columns: list[str] = []

    def append(self, row: Mapping[str, object]) -> None:
        """Write a row; the first one decides the columns. What a row lacks stays empty."""
        if not self._columns:
            self._columns = list(row)
            self._writer.writerow(self._columns)
        self._writer.writerow([row.get(column, "") for column in self._columns])
        self._file.flush()

    def close(self) -> None:
        """Make sure that every row is on disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()


def read_metrics(folder: Path) -> list[dict[str, float]]:
    """Return the rows of metrics.csv as numbers, without a last row that was cut short.

    Raises UnreadableRunError where a value is not a number.
    """
    try:
        text = (folder / METRICS).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    whole = text[: text.rfind("\n") + 1]
    rows = csv.DictReader(io.StringIO(whole))
    try:
        return [
            {key: float(value) if value else math.nan for key, value in row.items()} for row in rows
        ]
    except (TypeError, ValueError) as error:
        raise UnreadableRunError(f"{folder / METRICS} cannot be read: {error}") from error


def last_metrics(folder: Path) -> dict[str, str]:
    """Return the last whole row of metrics.csv as text, empty where there is none yet."""
    try:
        with (folder / METRICS).open("rb") as file:
            head = file.readline()
            file.seek(max(len(head), file.seek(0, os.SEEK_END) - 4 * len(head) - 1000))
            lines = file.read().split(b"\n")
    except OSError:
        return {}
    if len(lines) < 2 or not lines[-2]:
        return {}
    columns, values = (line.decode(errors="replace").strip() for line in (head, lines[-2]))
    return dict(zip(columns.split(","), values.split(","), strict=False))


def clear(folder: Path, keep: Collection[str] = ()) -> None:
    """Remove what an earlier attempt left in a run folder, except these files, and nothing else.

    Folders stay, such as one that somebody has made below `figures/`.
    """
    for name in (SUMMARY, METRICS, ATTENTION, SNAPSHOTS, PREDICTIONS, MODEL, CHECKPOINT):
        if name not in keep:
            (folder / name).unlink(missing_ok=True)
    for leftover in [*(folder / FIGURES).glob("*"), *folder.glob(f".*{ASIDE}")]:
        if not leftover.is_dir():
            leftover.unlink()
