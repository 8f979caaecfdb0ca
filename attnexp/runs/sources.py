"""The files that a run's data come from, known by their content.

A data set that reads a file has two settings for it, the path and the SHA-256 of the content:

    path: ???
    sha256: ${sha256:${.path}}

The digest is found when the run is composed. As a setting it is part of the key, the summary and
the tables: the same command with another content is another run. A run folder holds it as plain
text, so `verify` reads that content or none, and a folder of somebody else's gets nothing of a file
whose content it does not know already.

A path is that of a file of the user's, from the current directory on, or names a file that an
installed package ships, wherever it is installed: `attnexp:english_french.tsv`.
"""

import hashlib
import os
from functools import lru_cache
from pathlib import Path

from attnexp.core.errors import nearest_text
from attnexp.runs.files import UnreadableRunError, read_bytes, stamp

BEGINNING = 12
"""The number of digits of a digest that messages show."""


SHIPPED = Path(__file__).parents[1] / "data" / "files"
"""The folder of the files that `attnexp:FILE` names."""


class SourceError(ValueError):
    """A file of data cannot be used. The text says why."""


def digest(path: str | None) -> str | None:
    """Return the SHA-256 of a file's content in hexadecimal digits, and None for None.

    A file that has not changed since is not read again.

    Raises SourceError if the file is not there or cannot be read.
    """
    return None if path is None else _digest(path, stamp(_place(path)))


@lru_cache(maxsize=4096)
def _digest(path: str, _stamp: tuple[int, ...]) -> str:
    return hashlib.sha256(_content(path)).hexdigest()


def read_source(path: str, sha256: str | None) -> bytes:
    """Return the content of a file, if `sha256` is its digest.

    Raises SourceError if the file is not there or is a folder, a pipe or a device, if its content
    has another digest, and if `sha256` is missing.
    """
    if not sha256:
        raise SourceError(
            f"{path} is read only with the SHA-256 of its content, which the setting lacks: leave "
            "the setting out, and the digest is found"
        )
    content = _content(path)
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise SourceError(
            f"{path} is not the file that was asked for: the SHA-256 of its content begins with "
            f"{found[:BEGINNING]}, and the setting with {sha256:.{BEGINNING}}"
        )
    return content


def _content(path: str) -> bytes:
    try:
        return read_bytes(_place(path))
    except UnreadableRunError as error:
        raise SourceError(str(error)) from error
    except FileNotFoundError as error:
        folder, name = os.path.split(path)
        names = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
        text = f"there is no file {path}.{nearest_text(name, names)}"
        raise SourceError(text.rstrip(".")) from error


def _place(path: str) -> str:
    """Return the path in the file system of a file, which `attnexp:FILE` may name."""
    package, _, name = path.partition(":")
    ships = package == "attnexp" and name == os.path.basename(name)
    return str(SHIPPED / name) if ships else path
