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
import re
import secrets
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import file_digest, sha256
from io import FileIO
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from attnexp.core.errors import RequestError, writable
from attnexp.runs.records import table
from attnexp.runs.text_files import as_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
"""The error numbers of the system that mean that there is no file of this name."""

LARGEST = sys.float_info.max

SUMMARY = "summary.json"
METRICS = "metrics.csv"
ATTENTION = "attention.safetensors"
SNAPSHOTS = "attention_snapshots.safetensors"
PREDICTIONS = "predictions.csv"
RESPONSE = "response.csv"
INTERVENTIONS = "interventions.csv"
MODEL = "model.safetensors"
CHECKPOINT = "checkpoint.safetensors"
DIFF = "code.diff"
OWN_CODE = "own_code.json"
FIGURES = "figures"
ASIDE = ".tmp"
METADATA = "attnexp"
DRAWN = "drawn by attnexp"
"""The text in the metadata of every picture."""

PICTURES = (".png", ".svg", ".pdf")
"""The endings of pictures that do not move."""

ANIMATED = ".gif"
"""The ending of those that do."""

WRITTEN = (
    *(SUMMARY, METRICS, ATTENTION, SNAPSHOTS, PREDICTIONS, RESPONSE, INTERVENTIONS, MODEL),
    *(CHECKPOINT, DIFF, OWN_CODE),
)
"""The files that a run and its probe write into its folder, pictures and the log left out."""

OF_RESULTS = (METRICS, PREDICTIONS, RESPONSE, MODEL, ATTENTION, SNAPSHOTS)
"""The files that hold what a run has found, and that nothing changes after its end."""


LEFTOVER = re.compile(rf"\.({'|'.join(map(re.escape, WRITTEN))})\.[0-9a-f]{{8}}{re.escape(ASIDE)}")
"""The names of the unfinished files that `write_bytes` leaves if its process is killed."""


LONGEST_WORD = 120
"""The most bytes that a text takes in the name of a file, see `file_word`."""


class UnreadableRunError(RequestError):
    """The folder does not hold a run that this version can read. The text says why."""


def is_special(path: Path | str) -> bool:
    """Return whether a path leads to something other than a file: a folder, a device or a pipe.

    Reading a device or a pipe may never end.
    """
    return os.path.exists(path) and not os.path.isfile(path)


@contextmanager
def _opened(path: Path | str) -> Iterator[FileIO]:
    if is_special(path):
        raise UnreadableRunError(f"{path} is not a file")
    try:
        with FileIO(path) as file:
            yield file
    except MemoryError as error:
        raise UnreadableRunError(f"{path} is larger than the free memory") from error
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in ABSENT:
            raise FileNotFoundError(f"{path} is not there") from None
        reason = error.strerror if isinstance(error, OSError) else error
        raise UnreadableRunError(f"{path} cannot be read: {reason}") from error


def read_bytes(path: Path | str) -> bytes:
    """Return the content of a file.

    Raises FileNotFoundError if there is none, and UnreadableRunError if it cannot be read.
    """
    with _opened(path) as file:
        return file.readall()


def read_part(path: Path | str, most: int) -> bytes:
    """Return the first bytes of a file, the last if `most` is negative. Raises as `read_bytes`."""
    with _opened(path) as file:
        if most < 0:
            file.seek(max(0, file.seek(0, os.SEEK_END) + most))
        return file.read(abs(most))


def digest(path: Path | str) -> str:
    """Return the SHA-256 of a file, which is read piece by piece. Raises as `read_bytes`."""
    with _opened(path) as file:
        return file_digest(file, "sha256").hexdigest()


def stamp(path: Path | str) -> tuple[int, ...]:
    """Return numbers that change whenever a file changes, an empty tuple if there is no file."""
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return ()
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Raise each OSError of the block anew, with the path of a file in its message."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def write_bytes(path: Path, content: bytes, just_before: Callable[[], None] = lambda: None) -> None:
    """Write a file whole or not at all, in place of an earlier one.

    A link at the path is replaced, not followed.

    `just_before` is called just before the file is renamed. If `just_before` raises an error, the
    earlier file stays as it was.

    Raises OSError if the file cannot be written, and if there is a device or a folder in its place.
    """
    with writing(path):
        aside = _aside(path)
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


def _aside(path: Path) -> Path:
    """Return a name for a file while it is being written.

    Raises OSError if there is a device or a folder in the place of the file.
    """
    if is_special(path):
        raise OSError(errno.EINVAL, "it is not a file")
    return path.parent / f".{path.name}.{secrets.token_hex(4)}{ASIDE}"


def require_output(option: str, path: Path) -> None:
    """Raise RequestError if the file that an option names could not be written; change nothing.

    Commands that work for long before they write call this first.
    """
    with writable(option, path), writing(path):
        aside = _aside(path)
        aside.touch(exist_ok=False)
        aside.unlink()


def write_output(option: str, path: Path, content: bytes) -> None:
    """Write a file that an option names. Raises RequestError if it cannot be written."""
    with writable(option, path):
        write_bytes(path, content)


def require_own(folder: Path) -> None:
    """Raise OSError if a folder that is to be written in holds a symbolic link.

    The folder may be somebody else's, and a file written through a link would go elsewhere. The
    path to the folder may lead through links.
    """
    try:
        with os.scandir(folder) as entries:
            links = sorted(entry.name for entry in entries if entry.is_symlink())
    except FileNotFoundError:
        return
    if links:
        why = f"{links[0]} in it is a symbolic link, which is not followed: remove it"
        raise OSError(errno.ELOOP, why, str(folder))


def is_finite(value: float) -> bool:
    """Return whether a number is finite.

    The largest float counts as infinite: some tools store infinity as this number.
    """
    return abs(value) < LARGEST


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
    """Return the rows of a CSV file of `write_rows` as text; none if there is no file.

    Raises UnreadableRunError for a file that is not a table.
    """
    try:
        return _rows(path, read_bytes(path))
    except FileNotFoundError:
        return []


def _rows(path: Path, content: bytes) -> list[dict[str, str]]:
    """Return the rows of CSV, in UTF-8 with or without a byte order mark.

    Raises UnreadableRunError for other content, and for a row that lacks a column of the header.
    """
    try:
        header, rows = table(path, as_text(path, content), exact=True)
        return [dict(zip(header, row, strict=True)) for _, row in rows]
    except ValueError as error:
        raise UnreadableRunError(str(error)) from error


def write_tensors(
    path: Path, tensors: Mapping[str, "NDArray[Any]"], metadata: Mapping[str, object]
) -> None:
    """Write a safetensors file; the metadata are stored as JSON text.

    They share one key, because safetensors writes several in an order that changes.
    """
    from safetensors.numpy import save

    text = json.dumps(metadata, ensure_ascii=False)
    write_bytes(path, save(dict(tensors), metadata={METADATA: text}))


def read_tensors(path: Path) -> tuple[dict[str, "NDArray[Any]"], dict[str, Any]]:
    """Return the arrays and the metadata of a file that `write_tensors` wrote.

    Raises FileNotFoundError if there is none, and UnreadableRunError for any other content, such as
    numbers of a type that NumPy does not have.
    """
    from safetensors import safe_open

    if is_special(path):
        raise UnreadableRunError(f"{path} is not a file")
    try:
        with safe_open(path, framework="numpy") as tensors:
            arrays = {key: tensors.get_tensor(key) for key in tensors.keys()}  # noqa: SIM118
            metadata = json.loads((tensors.metadata() or {}).get(METADATA, "{}"))
    except FileNotFoundError:
        raise
    except Exception as error:  # safetensors and json raise many kinds
        raise UnreadableRunError(f"{path} cannot be read: {error}") from error
    if not isinstance(metadata, dict):
        raise UnreadableRunError(f"{path} cannot be read: its metadata are not an object")
    return arrays, metadata


class MetricsFile:
    """metrics.csv, one row per epoch, each written as soon as it is known."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / METRICS
        self._file: TextIO = self._path.open("w", newline="", encoding="utf-8")
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._columns: list[str] = []

    def append(self, row: Mapping[str, object]) -> None:
        """Write a row. The first row decides the columns.

        A value that a later row lacks stays empty.
        """
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

    Raises UnreadableRunError for a value that is not a number, and for epochs that do not ascend.
    """
    path = folder / METRICS
    try:
        content = read_bytes(path)
    except FileNotFoundError:
        return []
    rows = _rows(path, content[: content.rfind(b"\n") + 1])
    if rows and "epoch" not in rows[0]:
        raise UnreadableRunError(f"{path} cannot be read: it has no column epoch")
    try:
        numbers = [
            {key: float(value) if value else math.nan for key, value in row.items()} for row in rows
        ]
    except ValueError as error:
        raise UnreadableRunError(f"{path} cannot be read: {error}") from error
    epochs = [row["epoch"] for row in numbers]
    if not all(map(math.isfinite, epochs)) or any(b <= a for a, b in pairwise(epochs)):
        raise UnreadableRunError(f"{path} cannot be read: its epochs are not ascending numbers")
    return numbers


def last_metrics(folder: Path) -> dict[str, str]:
    """Return the last whole row of metrics.csv as text, empty if there is none yet."""
    try:
        lines = read_bytes(folder / METRICS).decode(errors="replace").split("\n")
    except (FileNotFoundError, UnreadableRunError):
        return {}
    if len(lines) < 3:
        return {}
    return dict(zip(lines[0].split(","), lines[-2].split(","), strict=False))


def file_word(text: str) -> str:
    """Return text as part of a file name: letters, digits, `_` and `-`.

    Text of more than LONGEST_WORD bytes is cut, and ends in a digest of the whole.
    """
    word = re.sub(r"[^\w-]+", "_", text).strip("_")
    if len(word.encode()) <= LONGEST_WORD:
        return word
    start = word.encode()[: LONGEST_WORD - 13].decode(errors="ignore")
    return f"{start}-{sha256(word.encode()).hexdigest()[:12]}"


def clear(folder: Path, keep: Collection[str] = ()) -> None:
    """Remove the files of an earlier attempt from a run folder, except `keep`, and nothing else.

    Of the files in `figures/` only pictures that attnexp drew are removed, and of hidden files only
    those that `LEFTOVER` names.
    """
    for name in WRITTEN:
        if name not in keep:
            (folder / name).unlink(missing_ok=True)
    drawn = filter(_is_drawn, (folder / FIGURES).glob("*"))
    left = (path for path in folder.glob(f".*{ASIDE}") if LEFTOVER.fullmatch(path.name))
    for path in [*drawn, *left]:
        if not os.path.isdir(path):
            path.unlink()


def _is_drawn(picture: Path) -> bool:
    if picture.suffix not in (*PICTURES, ANIMATED):
        return False
    try:
        return DRAWN.encode() in read_bytes(picture)
    except (FileNotFoundError, UnreadableRunError):
        return False
