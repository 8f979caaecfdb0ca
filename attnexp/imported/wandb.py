"""Offline runs of Weights & Biases: a file `run-ID.wandb` per run.

The file begins with `:W&B` and three bytes more. Then come the records of LevelDB's log: blocks of
32 KiB with pieces, each a checksum (4 bytes), a length (2), a kind (1) and content. A record is one
piece of kind 1, or a first (2), middle (3) and last one (4). It holds a message `Record` of
wandb_internal.proto: history = 2, summary = 3, config = 5, run = 17 and exit = 18.
"""

import json
import os
import struct
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attnexp.core.errors import RequestError
from attnexp.imported.attempts import LoggedPoint
from attnexp.imported.naming import RUN
from attnexp.imported.outside import ImportRequest, OutsideRun
from attnexp.imported.tracked import NOT_ENDED, Tracked, outside_runs
from attnexp.imported.wire import DamagedError, inside, text, whole
from attnexp.runs.files import read_bytes
from attnexp.runs.run_status import Status

MAGIC = b":W&B"

START = 7
"""The bytes before the first piece, in its block."""

BLOCK = 32768

HEAD = 7
"""The bytes of a piece before its content. A shorter rest of a block is padding."""

FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4


def read(path: Path, request: ImportRequest) -> tuple[list[OutsideRun], list[str]]:
    """Return the run of a file, or the runs of all files `*.wandb` at or below a folder, and notes.

    The configuration is the settings, the history the curves, and the summary the final metrics. A
    record that was cut off ends its file. A run without an exit code had not ended, and one whose
    code is not 0 has failed. Files of one run, which was resumed, are one run.

    Raises RequestError for files that are damaged.
    """
    files = sorted(path.rglob("*.wandb")) if os.path.isdir(path) else [path]
    runs: dict[str, Tracked] = {}
    for file in files:
        if not file.is_symlink():
            _add(file, runs)
    return outside_runs(runs.values())


def _add(file: Path, runs: dict[str, Tracked]) -> None:
    """Add the run in a file, or the part of a run of several files."""
    try:
        records = [*_records(read_bytes(file))]
        described = [each for record in records for each in inside(record, 17)]
        identity = next((found for each in described if (found := text(each, 1))), file.stem)
        run = runs.setdefault(identity, Tracked(f"the run in {file.name}", identity, {}))
        run.files += 1
        run.status, run.error = Status.INTERRUPTED, NOT_ENDED
        config, final = dict(run.config), dict(run.final)
        for record in records:
            for history in inside(record, 2):
                values = _items(history, 1)
                steps = inside(history, 2)
                step = whole(steps[0], 1) if steps else values.get("_step", len(run.points))
                if not isinstance(step, int | float):
                    raise DamagedError(f"a step that is {step!r:.60}")
                run.points.append(LoggedPoint(step, values, run.files))
            for changes, kept in ((inside(record, 3), final), (inside(record, 5), config)):
                for change in changes:
                    _update(kept, change)
            for each in inside(record, 17):
                names = {"group": text(each, 6), RUN: text(each, 8) or identity}
                run.names = {kind: name for kind, name in names.items() if name}
                run.source = f"the run {names[RUN]} in {file.name}"
                for change in inside(each, 4):
                    _update(config, change)
                for begin in inside(each, 17):
                    run.started = run.started or _date(whole(begin, 1))
            for end in inside(record, 18):
                code = whole(end, 1)
                run.status = Status.FAILED if code else Status.FINISHED
                run.error = f"it ended with code {code}" if code else None
        run.config, run.final = config, final
    except (DamagedError, FileNotFoundError) as error:
        raise RequestError(f"{file} is not a run of wandb, or damaged: it has {error}") from error


def _update(found: dict[str, Any], change: bytes) -> None:
    """Apply a message with update = 1 and remove = 2 to values by name."""
    found.update(_items(change, 1))
    for name in _items(change, 2):
        found.pop(name, None)


def _items(message: bytes, number: int) -> dict[str, Any]:
    """Return the values of the items with a number: key = 1, nested_key = 2, value_json = 16.

    Pictures and tables, whose fields have a `_type` next to them, are left out.
    """
    found: dict[str, Any] = {}
    for item in inside(message, number):
        names = [name.decode(errors="replace") for name in inside(item, 2)]
        value = text(item, 16)
        try:
            found[text(item, 1) or ".".join(names)] = json.loads(value) if value else None
        except (ValueError, RecursionError):
            raise DamagedError(f"a value that is not JSON, {value!r:.60}") from None
    media = tuple(name.removesuffix("_type") for name in found if name.endswith("._type"))
    return {name: value for name, value in found.items() if not name.startswith(media)}


def _records(content: bytes) -> Iterator[bytes]:
    """Yield the records of a file. Raises DamagedError for a wrong checksum."""
    if content[: len(MAGIC)] != MAGIC:
        raise DamagedError("another beginning")
    place, whole_record = START, b""
    while place + HEAD <= len(content):
        left = BLOCK - place % BLOCK
        if left < HEAD:
            place += left
            continue
        check, length, kind = struct.unpack_from("<IHB", content, place)
        start, place = place + HEAD, place + HEAD + length
        if not FULL <= kind <= LAST or length > left - HEAD:
            raise DamagedError(f"a wrong piece at byte {start - HEAD}")
        if place > len(content):
            return
        piece = content[start:place]
        if zlib.crc32(bytes([kind]) + piece) != check:
            raise DamagedError(f"a wrong checksum at byte {start - HEAD}")
        whole_record = piece if kind in (FULL, FIRST) else whole_record + piece
        if kind in (FULL, LAST):
            yield whole_record


def _date(seconds: int) -> str | None:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return None
