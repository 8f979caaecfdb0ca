"""Runs of TensorBoard: folders with event files.

An event file is a sequence of records, each the length of a message (8 bytes), the checksum of the
length (4), the message, and its checksum (4). The message is an Event of TensorFlow: wall_time = 1,
step = 2, summary = 5, whose value = 1 has tag = 1, simple_value = 2, tensor = 8 or metadata = 9,
and session_log = 7. The settings are the metadata of the plugin hparams.
"""

import math
import os
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from attnexp.core.errors import RequestError
from attnexp.imported.attempts import LoggedPoint
from attnexp.imported.checksum import masked_crc32c
from attnexp.imported.naming import RUN
from attnexp.imported.outside import ImportRequest, OutsideRun
from attnexp.imported.tracked import Tracked, outside_runs
from attnexp.imported.wire import DamagedError, fields, inside, real, text, whole
from attnexp.runs.files import read_bytes
from attnexp.runs.run_status import Status

EVENTS = "events.out.tfevents."

SESSION = re.compile(r"\d{9,}(\.\d+)?")
"""The name of a folder that PyTorch makes, inside that of a run, for its settings: the time."""

HEAD, CHECK = 12, 4
"""Bytes before and after a message."""

CHECKED = 65536
"""The most bytes of a message whose checksum is computed: longer ones are pictures."""

FAILURE = 2
"""The status of a session in the plugin hparams that ended with an error."""


KERAS = ("train", "validation")
"""The folders in which Keras keeps the two halves of a run."""

START = 1
"""The status of a session log that voids the events from its step on."""


@dataclass
class Events:
    """The content of the event files of a folder.

    `points` have the time of each. `settings` are the sets of settings of the HParams tab, and
    `final` the numbers of files that hold one with a number each: the results of a run.
    """

    points: list[tuple[float, LoggedPoint]] = field(default_factory=list)
    settings: list[dict[str, Any]] = field(default_factory=list)
    final: dict[str, float] = field(default_factory=dict)
    files: int = 0
    voided: int = 0
    failed: bool = False
    started: float = math.inf
    ended: float = -math.inf

    @property
    def is_session(self) -> bool:
        """Whether it holds settings and results, and no curves."""
        return bool(self.settings) and not self.points

    @property
    def tags(self) -> set[str]:
        """The names of its numbers by step."""
        return {name for _, point in self.points for name in point.values}

    def take(self, other: "Events", named: Callable[[str], str]) -> None:
        """Add the content of another folder under new names."""
        for when, point in other.points:
            values = {named(name): value for name, value in point.values.items()}
            self.points.append((when, LoggedPoint(point.step, values, self.files + point.file)))
        self.points.sort(key=lambda each: each[0])
        self.settings += other.settings
        self.final |= {named(name): value for name, value in other.final.items()}
        self.files += other.files
        self.voided += other.voided
        self.failed |= other.failed
        self.started = min(self.started, other.started)
        self.ended = max(self.ended, other.ended)


def read(path: Path, request: ImportRequest) -> tuple[list[OutsideRun], list[str]]:
    """Return a run per folder with event files at or below a path, or the run of one event file.

    Scalars are metrics, and the settings are those of the HParams tab. Some folders are part
    of the run in the folder around them: the folder of `SummaryWriter.add_hparams`, those of
    `add_scalars`, and train and validation of Keras. A record that was cut off ends its file. If
    a session begins, or a later file at an earlier step, the later steps of before are void. A run
    counts as finished unless its session says that it failed.

    Raises RequestError for files that are damaged.
    """
    if os.path.isfile(path):
        found = {path: _events([path])}
    else:
        below = ((Path(folder), names) for folder, _, names in os.walk(path))
        events = {
            folder: [folder / name for name in sorted(names, key=_when) if name.startswith(EVENTS)]
            for folder, names in below
        }
        found = {folder: _events(files) for folder, files in sorted(events.items()) if files}
        _join(found)
    return outside_runs(_run(folder, own, path) for folder, own in found.items())


def _when(name: str) -> list[int]:
    """Return a key that sorts event files by time and, within a second, by their number."""
    return [int(digits) for digits in re.findall(r"\d+", name)]


def _join(found: dict[Path, Events]) -> None:
    """Put the folders that belong to a run around them into it."""
    sessions = Counter(folder.parent for folder, own in found.items() if own.is_session)
    for folder, own in [*found.items()]:
        parent = folder.parent
        halves = [parent / half for half in KERAS]
        if parent not in found and folder in halves and all(half in found for half in halves):
            found[parent] = Events()
            for half in halves:
                found[parent].take(found.pop(half), partial("{}/{}".format, half.name))
        elif parent not in found or folder not in found:
            continue
        elif own.is_session and (SESSION.fullmatch(folder.name) or sessions[parent] == 1):
            found[parent].take(found.pop(folder), str)
        elif len(own.tags) == 1:
            (tag,) = own.tags
            beginning = f"{tag.replace('/', '_')}_"  # as `add_scalars` names folders
            if folder.name.startswith(beginning):
                last = folder.name.removeprefix(beginning)
                found[parent].take(found.pop(folder), partial("{1}/{0}".format, last))


def _run(folder: Path, own: Events, path: Path) -> Tracked:
    name = folder.relative_to(path).as_posix() if folder != path else path.name
    source = f"the run {name} of {path.name}" if folder != path else f"the run {name}"
    for other in own.settings:
        if other != own.settings[0]:
            raise RequestError(f"{source} has two sets of settings: {own.settings[0]} and {other}")
    return Tracked(
        source=source,
        identity=str(folder.resolve()),
        names={RUN: name},
        config=own.settings[0] if own.settings else {},
        points=[point for _, point in own.points],
        voided=own.voided,
        final=own.final,
        status=Status.FAILED if own.failed else Status.FINISHED,
        started=_date(own.started),
        ended=_date(own.ended),
        error="its session says that it failed" if own.failed else None,
    )


def _events(files: Sequence[Path]) -> Events:
    found = Events()
    for number, file in enumerate(files):
        try:
            _add(found, file, number)
        except (DamagedError, FileNotFoundError) as error:
            raise RequestError(
                f"{file} is not an event file, or damaged: it has {error}"
            ) from error
    found.files = len(files)
    return found


def _add(found: Events, file: Path, number: int) -> None:
    """Add the content of a file. Its numbers are final if it has settings and each has one step."""
    points: list[tuple[float, LoggedPoint]] = []
    settings: list[dict[str, Any]] = []
    for message in _messages(read_bytes(file)):
        step, times = whole(message, 2), [value for n, value in fields(message) if n == 1]
        when = real(times[0]) if times and isinstance(times[0], bytes) else 0.0
        found.started, found.ended = min(found.started, when), max(found.ended, when)
        if any(whole(log, 1) == START for log in inside(message, 7)):
            for each in (points, found.points):
                kept = [(time, point) for time, point in each if point.step < step]
                found.voided += len(each) - len(kept)
                each[:] = kept
        for value in inside(message, 5, 1):
            scalar = _scalar(value)
            if scalar is not None:
                points.append((when, LoggedPoint(step, {text(value, 1): scalar}, number)))
            for session in inside(value, 9, 1):
                if text(session, 1) == "hparams":
                    _add_session(found, settings, session)
    tags = [name for _, point in points for name in point.values]
    found.settings += settings
    if settings and len(tags) == len({*tags}):
        found.final |= {name: v for _, point in points for name, v in point.values.items()}
    else:
        found.points += points


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


def _add_session(found: Events, settings: list[dict[str, Any]], session: bytes) -> None:
    """Add the settings of a session that begins, or the status of one that ends."""
    own = {}
    for entry in inside(session, 2, 3, 1):
        values = [_setting(value) for value in inside(entry, 2)]
        own[text(entry, 1)] = values[0] if values else None
    if own:
        settings.append(own)
    found.failed |= any(whole(end, 1) == FAILURE for end in inside(session, 2, 4))


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
