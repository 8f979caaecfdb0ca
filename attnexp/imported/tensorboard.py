"""Runs of TensorBoard: folders with event files.

An event file is a sequence of records, each the length of a message (8 bytes), the checksum of the
length (4), the message, and its checksum (4). The message is an Event of TensorFlow: wall_time = 1,
step = 2 and summary = 5, whose value = 1 has tag = 1, simple_value = 2, tensor = 8 or metadata = 9.
The settings are the metadata of the plugin hparams.
"""

import os
import re
import struct
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attnexp.core.errors import RequestError
from attnexp.imported.checksum import masked_crc32c
from attnexp.imported.outside import OutsideRun, Request
from attnexp.imported.tracked import Tracked, outside_runs
from attnexp.imported.wire import DamagedError, fields, inside, real, text, whole
from attnexp.runs.files import read_bytes
from attnexp.runs.run_status import Status

EVENTS = "events.out.tfevents."
"""The beginning of the name of an event file."""

SESSION = re.compile(r"\d{9,}(\.\d+)?")
"""The name of a folder that PyTorch makes, inside that of a run, for its settings: the time."""

HEAD, CHECK = 12, 4
"""Bytes before and after a message."""

CHECKED = 65536
"""The most bytes of a message whose checksum is computed: longer ones are pictures."""

FAILURE = 2
"""The status of a session in the plugin hparams that ended with an error."""


def read(path: Path, request: Request) -> list[OutsideRun]:
    """Return a run per folder with event files at or below a path, or the run of one event file.

    Scalars are metrics, and the settings are those of the HParams tab. A folder named by a time, as
    `SummaryWriter.add_hparams` of PyTorch makes it, belongs to the run around it. A record that was
    cut off ends its file. A run counts as finished unless its session says that it failed.

    Raises RequestError for files that are damaged.
    """
    if path.is_file():
        found = {path.parent: [path]}
    else:
        below = ((Path(folder), names) for folder, _, names in os.walk(path))
        events = {
            folder: [folder / name for name in sorted(names) if name.startswith(EVENTS)]
            for folder, names in below
        }
        found = {folder: files for folder, files in sorted(events.items()) if files}
    runs: dict[Path, Tracked] = {}
    for folder, files in found.items():
        own = folder.parent if SESSION.fullmatch(folder.name) and folder.parent in found else folder
        name = path.name if path.is_file() else own.relative_to(path).as_posix()
        run = runs.setdefault(own, Tracked(f"the run {name} of {path.name}", name))
        for file in files:
            _add(run, file)
    return outside_runs([*runs.values()], request)


def _add(run: Tracked, file: Path) -> None:
    try:
        for message in _messages(read_bytes(file)):
            step, when = whole(message, 2), [value for n, value in fields(message) if n == 1]
            for value in inside(message, 5, 1):
                number = _scalar(value)
                if number is not None:
                    run.points.append((step, {text(value, 1): number}))
                for session in inside(value, 9, 1):
                    if text(session, 1) == "hparams":
                        _add_session(run, session)
            if when and isinstance(when[0], bytes):
                run.ended = _date(real(when[0])) or run.ended
                run.started = run.started or run.ended
    except (DamagedError, FileNotFoundError) as error:
        raise RequestError(f"{file} is not an event file, or damaged: it has {error}") from error


def _messages(content: bytes) -> Iterator[bytes]:
    """Yield the messages of a file. Raises DamagedError for a wrong checksum."""
    place = 0
    while place + HEAD <= len(content):
        length, check = struct.unpack_from("<QI", content, place)
        if masked_crc32c(content[place : place + 8]) != check:
            raise DamagedError(f"a wrong checksum at byte {place}")
        start, place = place + HEAD, place + HEAD + length + CHECK
        if place > len(content):
            return
        message = content[start : start + length]
        (check,) = struct.unpack_from("<I", content, start + length)
        if length <= CHECKED and masked_crc32c(message) != check:
            raise DamagedError(f"a wrong checksum at byte {start}")
        yield message


def _scalar(value: bytes) -> float | None:
    """Return the number of a summary, None if it holds something else, such as a picture.

    Newer writers store a tensor: dtype = 1, tensor_shape = 2, tensor_content = 4, float_val = 5,
    double_val = 6.
    """
    for number, content in fields(value):
        if number == 2 and isinstance(content, bytes):
            return real(content)
        if number == 8 and isinstance(content, bytes) and not inside(content, 2, 2):
            numbers = [*inside(content, 4), *inside(content, 5), *inside(content, 6)]
            kind = whole(content, 1)
            if kind in (1, 2) and len(numbers) == 1 and len(numbers[0]) == 4 * kind:
                return real(numbers[0])
    return None


def _add_session(run: Tracked, session: bytes) -> None:
    """Add the settings of a session that begins, or the status of one that ends."""
    for entry in inside(session, 2, 3, 1):
        values = [_setting(value) for value in inside(entry, 2)]
        run.config = {**run.config, text(entry, 1): values[0] if values else None}
    for end in inside(session, 2, 4):
        if whole(end, 1) == FAILURE:
            run.status, run.error = Status.FAILED, "its session says that it failed"


def _setting(value: bytes) -> Any:
    """Return a number, text or truth value: the fields 2, 3 and 4 of google.protobuf.Value."""
    for number, content in fields(value):
        if number == 2 and isinstance(content, bytes):
            return real(content)
        if number == 3 and isinstance(content, bytes):
            return content.decode(errors="replace")
        if number == 4:
            return bool(content)
    return None


def _date(seconds: float) -> str | None:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return None
