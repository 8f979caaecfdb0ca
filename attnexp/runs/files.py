"""The files of a run folder: their names, and how they are written and read.

Files appear whole or not at all: they are written under another name, synced, and renamed. Only
`metrics.csv` and the log grow line by line; a reader drops a last line that was cut short. Nothing
is pickled. This module imports neither torch nor pandas.
"""

import csv
import errno
import io
import json
import math
import os
import secrets
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
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
DIFF = "code.diff"
FIGURES = "figures"
ASIDE = ".tmp"
METADATA = "attnexp"


MIB, GIB = 2**20, 2**30

MOST = {SUMMARY: 16 * MIB, METRICS: 64 * MIB, PREDICTIONS: 64 * MIB}
"""Bytes of each text file of a run that are read; a run writes a hundredth of that."""

MOST_TENSORS = {ATTENTION: 512 * MIB, SNAPSHOTS: GIB, MODEL: 8 * GIB, CHECKPOINT: 32 * GIB}
"""Bytes of each file of tensors that are read."""


class UnreadableRunError(Exception):
    """The folder does not hold a run that this version can read. The text says why."""


def open_regular(path: Path | str, most: int) -> tuple[int, os.stat_result]:
    """Open a regular file for reading and return it with its state. All reads begin here.

    Raises FileNotFoundError where there is none, and UnreadableRunError for a pipe, a device or a
    folder, which could be waited for without an end, for a file of more bytes than `most`, and for
    one that may not be read.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        raise FileNotFoundError(f"{path} is not there") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UnreadableRunError(f"{path} cannot be opened: {reason}") from error
    state = os.fstat(file)
    if stat.S_ISREG(state.st_mode) and state.st_size <= most:
        return file, state
    os.close(file)
    if not stat.S_ISREG(state.st_mode):
        raise UnreadableRunError(f"{path} is not a file")
    raise UnreadableRunError(
        f"{path} is too large: {state.st_size / MIB:,.0f} MiB, and at most {most // MIB:,} are read"
    )


def read_open(path: Path | str, file: int, size: int) -> bytes:
    """Return `size` bytes of an opened file, fewer at its end. Raises UnreadableRunError."""
    parts = []
    try:
        while size > 0 and (part := os.read(file, size)):
            parts.append(part)
            size -= len(part)
    except OSError as error:
        raise UnreadableRunError(f"{path} cannot be read: {error.strerror}") from error
    return b"".join(parts)


def read_bytes(path: Path | str, most: int) -> bytes:
    """Return the content of a regular file. Raises as `open_regular` and `read_open`."""
    file, state = open_regular(path, most)
    try:
        return read_open(path, file, state.st_size)
    finally:
        os.close(file)


def text_of(path: Path | str, content: bytes) -> str:
    """Return UTF-8 as text, without a byte order mark. Raises UnreadableRunError for others."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableRunError(f"{path} is not UTF-8 text (byte {error.start + 1})") from error


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Name a file in the errors of the system that a block raises."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def write_bytes(path: Path, content: bytes, just_before: Callable[[], None] = lambda: None) -> None:
    """Write a file whole or not at all, replacing what was there. A link is not followed.

    `just_before` is called when all that is left is to rename it; an error of it leaves the file
    as it was. Raises OSError where it cannot be written, and for a device or a folder in its place.
    """
    aside = path.parent / f".{path.name}.{secrets.token_hex(4)}{ASIDE}"
    with writing(path):
        require_file(path)
        try:
            with aside.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            just_before()
            aside.replace(path)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise


def require_file(path: Path) -> None:
    """Raise OSError where there is something that a file must not replace, such as a device."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise OSError(errno.EINVAL, "it is not a file")


def require_no_link(folder: Path) -> None:
    """Raise OSError for a link: a folder that is written in would be somewhere else."""
    if folder.is_symlink():
        why = "it is a symbolic link, which is not followed: remove it"
        raise OSError(errno.ELOOP, why, str(folder))


def write_json(
    path: Path, content: Mapping[str, Any], just_before: Callable[[], None] = lambda: None
) -> None:
    """Write JSON that any reader takes: NaN and infinities become null, broken letters `?`.

    `just_before` is as in `write_bytes`.
    """
    text = json.dumps(finite(content), indent=2, ensure_ascii=False, allow_nan=False)
    write_bytes(path, (text + "\n").encode(errors="replace"), just_before)


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
    """Return the rows of a CSV file of `write_rows` as text; none where there is no file.

    Raises UnreadableRunError for what is no table.
    """
    try:
        text = text_of(path, read_bytes(path, MOST.get(path.name, MOST[PREDICTIONS])))
    except FileNotFoundError:
        return []
    return _rows(path, text)


def _rows(path: Path, text: str) -> list[dict[str, str]]:
    """Return the rows of CSV text, each with every column of the header.

    Raises UnreadableRunError where a row has more or fewer, and for what is no CSV.
    """
    lines = csv.reader(io.StringIO(text, newline=""))
    try:
        columns = next(lines, [])
        rows = [row for row in lines if row]
    except csv.Error as error:
        raise UnreadableRunError(f"{path} cannot be read: {error}") from error
    for number, row in enumerate(rows, start=1):
        if len(row) != len(columns):
            raise UnreadableRunError(
                f"{path} cannot be read: row {number} has {len(row)} values, the header "
                f"{len(columns)}"
            )
    return [dict(zip(columns, row, strict=True)) for row in rows]


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

    Raises FileNotFoundError where there is none, and UnreadableRunError for any other content, such
    as numbers of a type that NumPy does not have.
    """
    from safetensors import SafetensorError, safe_open

    file, _ = open_regular(path, MOST_TENSORS.get(path.name, GIB))
    os.close(file)
    try:
        with safe_open(path, framework="numpy") as tensors:
            arrays = {key: tensors.get_tensor(key) for key in tensors.keys()}  # noqa: SIM118
            metadata = json.loads((tensors.metadata() or {}).get(METADATA, "{}"))
    except (SafetensorError, ValueError, TypeError, KeyError, AttributeError, OSError) as error:
        raise UnreadableRunError(f"{path} cannot be read: {error}") from error
    except (RecursionError, MemoryError) as error:
        raise UnreadableRunError(f"{path} is too large to be read") from error
    if not isinstance(metadata, dict):
        raise UnreadableRunError(f"{path} cannot be read: its metadata are no object")
    return arrays, metadata


class MetricsFile:
    """metrics.csv, a row an epoch, each written as soon as it is known."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / METRICS
        self._file: TextIO = self._path.open("w", newline="", encoding="utf-8")
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._columns: list[str] = []

    def append(self, row: Mapping[str, object]) -> None:
        """Write a row; the first one decides the columns. What a row lacks stays empty."""
        with writing(self._path):
            if not self._columns:
                self._columns = list(row)
                self._writer.writerow(self._columns)
            self._writer.writerow([row.get(column, "") for column in self._columns])
            self._file.flush()

    def close(self) -> None:
        """Make sure that every row is on disk."""
        with writing(self._path), self._file:
            self._file.flush()
            os.fsync(self._file.fileno())


def read_metrics(folder: Path) -> list[dict[str, float]]:
    """Return the rows of metrics.csv as numbers, without a last row that was cut short.

    Raises UnreadableRunError where epochs are not ascending, and for a value that is no number.
    """
    path = folder / METRICS
    try:
        content = read_bytes(path, MOST[METRICS])
    except FileNotFoundError:
        return []
    rows = _rows(path, text_of(path, content[: content.rfind(b"\n") + 1]))
    if rows and "epoch" not in rows[0]:
        raise UnreadableRunError(f"{path} cannot be read: it has no column epoch")
    try:
        numbers = [
            {key: float(value) if value else math.nan for key, value in row.items()} for row in rows
        ]
    except ValueError as error:
        raise UnreadableRunError(f"{path} cannot be read: {error}") from error
    epochs = [row["epoch"] for row in numbers]
    if not all(one < other < math.inf for one, other in pairwise([-math.inf, *epochs])):
        raise UnreadableRunError(f"{path} cannot be read: its epochs do not ascend")
    return numbers


def last_metrics(folder: Path) -> dict[str, str]:
    """Return the last whole row of metrics.csv as text, empty where there is none yet."""
    try:
        file, state = open_regular(folder / METRICS, MOST[METRICS])
    except (OSError, UnreadableRunError):
        return {}
    with os.fdopen(file, "rb") as opened:
        head = opened.readline(state.st_size)
        opened.seek(max(len(head), state.st_size - 4 * len(head) - 1000))
        lines = opened.read(state.st_size).split(b"\n")
    if len(lines) < 2 or not lines[-2]:
        return {}
    columns, values = (line.decode(errors="replace").strip() for line in (head, lines[-2]))
    return dict(zip(columns.split(","), values.split(","), strict=False))


def clear(folder: Path, keep: Collection[str] = ()) -> None:
    """Remove what an earlier attempt left in a run folder, except these files, and nothing else.

    Folders stay, such as one that somebody has made below `figures/`.
    """
    for name in (SUMMARY, METRICS, ATTENTION, SNAPSHOTS, PREDICTIONS, MODEL, CHECKPOINT, DIFF):
        if name not in keep:
            (folder / name).unlink(missing_ok=True)
    for leftover in [*(folder / FIGURES).glob("*"), *folder.glob(f".*{ASIDE}")]:
        if not leftover.is_dir():
            leftover.unlink()
