"""What a picture was drawn from, as standard metadata of its format, and how that is read.

It is JSON in ASCII: the text `Description` of a PNG, `dc:description` of an SVG, and `Keywords` of
a PDF. It changes no pixel. Reading it needs neither matplotlib nor trust in the file.
"""

import io
import json
import os
import re
import shlex
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from xml.etree.ElementTree import iterparse

import msgspec

from attnexp.core import console
from attnexp.core.command import current_command
from attnexp.core.errors import RequestError, shortened_value
from attnexp.runs.files import FIGURES, read_part
from attnexp.runs.folder import Run
from attnexp.runs.origin.provenance import GitState, code
from attnexp.runs.secret import PASSWORD, require_no_secret_typed
from attnexp.runs.settings import clean
from attnexp.runs.summary import read_summary
from attnexp.select.collect import OUTPUTS, collect

MOST_RUNS = 50
"""The most runs that a picture names. Of more runs, the number is told."""

LONGEST = 4_000
"""The most characters of a command or a path. A longer one loses its middle."""

MOST_BYTES = 2**20
"""The most bytes that are read of a file: the first ones, of a PDF the last."""

FIELDS = {"png": "Description", "svg": "Description", "pdf": "Keywords"}
"""The name that matplotlib gives to the metadata that are used in each format."""

DESCRIPTION = "{http://purl.org/dc/elements/1.1/}description"


class DrawnFrom(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a picture was drawn from.

    - `count` is the number of runs, `runs` the keys and paths of the first `MOST_RUNS`.
    - `command` is the command line, None if no command drew the picture or it holds a secret.
    - `git` is the state of the checkout that the working directory is in.
    """

    count: int
    runs: list[tuple[str, str]]
    command: str | None = None
    git: GitState | None = None


def metadata_of(kind: str, runs: Sequence[Run]) -> dict[str, str]:
    """Return the metadata of a picture of these runs that this process draws, for a format.

    The result is empty without runs if no command is known either.
    """
    typed, command = current_command(), None
    if typed is None and not runs:
        return {}
    with suppress(RequestError, ValueError):  # a secret, or a quotation without an end
        require_no_secret_typed(shlex.split(typed or ""))
        command = _recorded(typed) if typed and not PASSWORD.search(typed) else None
    named = [(run.summary.key, _recorded(console.relative(run.folder))) for run in runs[:MOST_RUNS]]
    working, _ = code()
    told = DrawnFrom(len(runs), named, command, working.state if working else None)
    return {FIELDS[kind]: json.dumps(msgspec.to_builtins(told))}


def _recorded(text: str) -> str:
    return shortened_value(text, LONGEST).encode(errors="replace").decode()


def read_drawn(path: Path) -> DrawnFrom:
    """Return what a picture was drawn from.

    Raises RequestError for a file that cannot be read, and for one without this metadata.
    """
    suffix = path.suffix.lower()
    try:
        content = read_part(path, -MOST_BYTES if suffix == ".pdf" else MOST_BYTES)
    except FileNotFoundError as error:
        raise RequestError(str(error)) from None
    try:
        return msgspec.json.decode(READERS[suffix](content), type=DrawnFrom)
    except Exception as error:  # any file may be there, and readers raise many kinds
        raise RequestError(
            f"{path} does not say what it was drawn from: attnexp writes that into PNG, SVG and PDF"
        ) from error


def _of_png(content: bytes) -> str:
    from PIL.PngImagePlugin import PngImageFile  # Image.open would refuse a very large picture

    with warnings.catch_warnings(action="ignore"):
        return PngImageFile(io.BytesIO(content)).info[FIELDS["png"]]


def _of_svg(content: bytes) -> str:
    text = content.decode(errors="replace")
    if "<!ENTITY" in text:
        raise ValueError("entities can be as large as memory")
    parsed = iterparse(io.StringIO(text))
    return next(each.text or "" for _, each in parsed if each.tag == DESCRIPTION)


def _of_pdf(content: bytes) -> str:
    found = re.findall(rb"/Keywords \(((?:[^\\()]|\\.)*+)\)", content)
    return re.sub(rb"\\(.)", rb"\1", found[-1]).decode()


READERS = {".png": _of_png, ".svg": _of_svg, ".pdf": _of_pdf}


def drawn_lines(path: Path) -> list[str]:
    """Return lines that say what a picture was drawn from, and where its runs are now.

    Raises RequestError as `read_drawn`.
    """
    drawn = read_drawn(path)
    named = drawn.runs[:MOST_RUNS]
    lines = [f"command: {drawn.command}"] if drawn.command is not None else []
    lines += [f"commit: {str(drawn.git).removeprefix('commit ')}"] if drawn.git is not None else []
    folders = _folders(path, {key for key, _ in named})
    for key, given in named:
        there = folders.get(key) or ([given] if _is_at(given, key) else [])
        lines.append(f"run {key}: {', '.join(there) or f'not there any more; it was {given}'}")
    if drawn.count > len(named):
        lines.append(f"and {drawn.count - len(named):,} more, which the picture does not name")
    return [clean(shortened_value(line, LONGEST + 100)) for line in lines]


def _folders(picture: Path, keys: set[str]) -> dict[str, list[str]]:
    """Return, by key, where runs with these keys are now.

    Searched is the folder `outputs`. If that lacks a run, the folder around the picture is searched
    too: the one that holds its folder `figures`, else the picture's own.
    """
    parents = picture.absolute().parents
    holders = (each.parent for each in parents if each.name == FIGURES and len(each.parents) > 1)
    found: dict[str, list[str]] = {}
    for root in (Path(OUTPUTS), next(holders, parents[0])):
        if os.path.isdir(root) and not keys <= found.keys():
            collected = collect([root])
            for run in (*collected.runs, *collected.others):
                place = console.relative(run.folder.absolute())
                found.setdefault(run.summary.key, []).append(place)
    return {key: [*dict.fromkeys(found[key])] for key in keys & found.keys()}


def _is_at(path: str, key: str) -> bool:
    """Return whether a folder still holds the run with this key."""
    try:
        return read_summary(path).key == key
    except RequestError:
        return False
