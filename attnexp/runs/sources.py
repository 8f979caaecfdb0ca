"""The files that a run's data come from, known by their content.

A data set that reads a file has two settings for it, the path and the SHA-256 of the content:

    path: ???
    sha256: ${sha256:${.path}}

The digest is found when the run is composed. As a setting it is part of the key, the summary and
the tables: the same command with another content is another run. A run folder holds it as plain
text, so `verify` reads that content or none, and a folder of somebody else's gets nothing of a file
whose content it does not know already.
"""

import hashlib
import os
from pathlib import Path

from attnexp.errors import nearest_text
from attnexp.runs.files import GIB, UnreadableRunError, open_regular, read_bytes

MOST = 2 * GIB
"""Bytes of a file of data."""

BEGINNING = 12
"""Digits of a digest that messages show."""


class SourceError(ValueError):
    """A file of data cannot be used. The text says why."""


def digest(path: str | None) -> str | None:
    """Return the SHA-256 of a file's content in hexadecimal digits, and None for None.

    A file that has not changed is read once. Raises SourceError for what `read_source` refuses.
    """
    if path is None:
        return None
    try:
        file, state = open_regular(path, MOST)
    except (FileNotFoundError, UnreadableRunError) as error:
        raise _unusable(path, error) from error
    with os.fdopen(file, "rb") as opened:
        stamp = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
        if stamp not in _digests:
            _digests[stamp] = hashlib.file_digest(opened, "sha256").hexdigest()
        return _digests[stamp]


_digests: dict[tuple[int, ...], str] = {}
"""The digests that have been found in this process, by what changes when a file does."""


def read_source(path: str, sha256: str) -> bytes:
    """Return the content of a file that has this digest.

    Raises SourceError where there is no file, for a pipe, a device, a folder or a file of more than
    `MOST` bytes, and for another content.
    """
    try:
        content = read_bytes(path, MOST)
    except (FileNotFoundError, UnreadableRunError) as error:
        raise _unusable(path, error) from error
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise SourceError(
            f"{path} is not the file that was asked for: the SHA-256 of its content begins with "
            f"{found[:BEGINNING]}, and the setting with {sha256:.{BEGINNING}}"
        )
    return content


def _unusable(path: str, error: Exception) -> SourceError:
    if not isinstance(error, FileNotFoundError):
        return SourceError(str(error))
    place = Path(path)
    try:
        beside = os.listdir(place.parent)
    except OSError:
        beside = []
    return SourceError(f"there is no file {path}.{nearest_text(place.name, beside)}".rstrip("."))
