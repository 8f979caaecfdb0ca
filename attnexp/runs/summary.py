"""summary.json: what a run was asked to do, how it ended, and what it measured.

No other module knows the file. It is read and written through `Summary`, whose fields are its keys.
msgspec checks the types while it parses, which takes less time than parsing alone takes with the
standard library, and says which field does not fit.
"""

import codecs
import os
import re
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from attnexp.errors import FULL, RequestError, refusal
from attnexp.redaction import recorded, redacted
from attnexp.runs import lease
from attnexp.runs.files import (
    MOST,
    SUMMARY,
    UnreadableRunError,
    open_regular,
    read_open,
    write_json,
)
from attnexp.runs.key import RESULTS_VERSION, complete, run_key
from attnexp.runs.provenance import GitState, code, host, now, processor, system, versions
from attnexp.runs.settings import clean

SCHEMA = 1
"""Version of the files of a run folder."""

Status = Literal["running", "finished", "failed", "interrupted"]
"""What a run has recorded of its course. Its process may be gone: see `attnexp.runs.state`."""

Direction = Literal["lower", "higher"]
"""Which values of a metric are better."""


class Tuning(msgspec.Struct, frozen=True):
    """How settings of a run were chosen by a sweep that tunes each configuration.

    `values` are what each tuned setting was tried at, `metric` is what the choice went by, and
    `seeds` are the seeds of the runs that were tried. `trial` says that the run is itself one of
    these, and not one of the runs that are compared.
    """

    values: dict[str, list[str]]
    metric: str
    seeds: list[int]
    trial: bool

    def __str__(self) -> str:
        tried = " and ".join(f"{name} among {', '.join(v)}" for name, v in self.values.items())
        seeds = ", ".join(map(str, self.seeds))
        return f"{tried} by {self.metric} at seed{'s' if len(self.seeds) > 1 else ''} {seeds}"


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt at a run that was left after so many updates, and from which the run went on."""

    updates: int
    started: str | None
    ended: str
    device: str | None
    versions: dict[str, str]

    def differences(self, later: "Attempt") -> str:
        """Return in words what another attempt had that this one had not."""
        ours, theirs = ({**each.versions, "device": each.device} for each in (self, later))
        return " and ".join(
            f"{name} {theirs.get(name)} in place of {own}"
            for name, own in ours.items()
            if theirs.get(name) != own
        )


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The content of summary.json.

    - `config` is the resolved configuration, with `${oc.env:NAME}` for what comes from the
      environment and `***` for a secret; `choices` is the name chosen in each group.
    - `metrics` are the final metrics, None for one that is not a finite number; `details` are
      metrics cut into parts, such as exact match by length.
    - `primary` is the metric by which runs are compared first, `selection` the one by which a
      search selects; `better` holds the direction of each metric that ranks, `headline` the metrics
      that are shown first, `units` the unit of each metric that has one, `beside` the metrics that
      stand beside another in tables, by the heads of their columns.
    - `notes` are remarks that must be read with the numbers.
    - `tuning` says how settings of the run were chosen, None where no sweep has tuned them.
    - `attempts` are the earlier attempts at the run, each of which went on where the last was left.
    - `seconds` is the duration, `peak_memory_mb` the most memory in use, in units of 2^20 bytes.
    - `command` is the command line as it was typed, for a job of a sweep that of the sweep.
    - `git` is the state of the checkout that the working directory is in, `source` that of the one
      from which attnexp ran; `host`, `platform` and `processor` say on which machine.
    - `error` says in a line what ended the run early.
    """

    schema: int
    status: Status
    key: str
    choices: dict[str, str]
    config: dict[str, Any]
    metrics: dict[str, float | None]
    results_version: int | None = None
    primary: str | None = None
    selection: str | None = None
    better: dict[str, Direction] = {}
    headline: list[str] = []
    units: dict[str, str] = {}
    beside: dict[str, dict[str, str]] = {}
    details: dict[str, dict[str, float | None]] = {}
    notes: list[str] = []
    tuning: Tuning | None = None
    attempts: list[Attempt] = []
    parameters: int | None = None
    seconds: float | None = None
    peak_memory_mb: float | None = None
    device: str | None = None
    versions: dict[str, str] = {}
    git: GitState | None = None
    source: GitState | None = None
    command: str | None = None
    host: str | None = None
    platform: str | None = None
    processor: str | None = None
    started: str | None = None
    ended: str | None = None
    error: str | None = None

    def __post_init__(self) -> None:
        seed = self.config.get("seed")
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise ValueError(f"Expected a whole number, got {seed!r:.60} - at `$.config.seed`")

    @property
    def seed(self) -> int:
        """The seed of the run."""
        seed: int = self.config["seed"]
        return seed

    def ended_early(
        self, status: Literal["failed", "interrupted"], error: str, seconds: float | None = None
    ) -> "Summary":
        """Return the summary of the same run, failed or interrupted."""
        return msgspec.structs.replace(
            self, status=status, error=redacted(error), seconds=seconds, ended=now()
        )

    def write(self, folder: Path) -> None:
        """Write summary.json, whole or not at all.

        Raises TakenOverError where this process has lost the folder to another.
        """
        write_json(
            folder / SUMMARY, msgspec.to_builtins(self), partial(lease.confirm, Path(folder))
        )


def first_summary(
    config: Mapping[str, Any], choices: Mapping[str, str], command: str | None = None
) -> Summary:
    """Return what is known of a run before anything of it is built.

    `config` is the resolved configuration, `choices` the name chosen in each group, `command` what
    was typed. What is a secret stays out, and so do values from the environment.
    """
    working, own = code()
    return Summary(
        schema=SCHEMA,
        status="running",
        key=run_key(config),
        results_version=RESULTS_VERSION,
        choices=dict(choices),
        config=recorded(config),
        metrics={},
        versions=versions(),
        git=working.state if working else None,
        source=own.state if own else None,
        command=command,
        host=host(),
        platform=system(),
        processor=processor(),
        started=now(),
    )


def record_tuning(folder: Path, tuning: Tuning) -> None:
    """Add to the summary of a finished run how its settings were chosen.

    The caller holds the lock of the folder.
    """
    summary = read_summary(folder)
    if summary.tuning != tuning:
        msgspec.structs.replace(summary, tuning=tuning).write(folder)


def read_summary(folder: Path | str) -> Summary:
    """Return the summary of a run folder, with the settings that came later at their former value.

    Raises UnreadableRunError, with the reason, for a folder without a summary, for content that is
    not JSON or not a summary, and for a summary of another schema version.
    """
    opened = open_summary(folder)
    if opened is None:
        raise UnreadableRunError(f"{folder} holds no {SUMMARY}")
    return opened.read()


class OpenSummary:
    """The opened summary.json of a run folder, which the system reads ahead from the disk.

    Many are opened before the first is read, so that the disk is not waited for file by file.
    `state` is the file's state. Each must be read or closed.
    """

    def __init__(self, folder: str, file: int, state: os.stat_result) -> None:
        self.folder = folder
        self.state = state
        self._file = file

    def read(self) -> Summary:
        """Close the file and return its content as `read_summary` does, with the same errors."""
        path = f"{self.folder}/{SUMMARY}"
        try:
            content = read_open(path, self._file, self.state.st_size)
        finally:
            self.close()
        return _summary(path, content)

    def close(self) -> None:
        """Close the file without reading it."""
        os.close(self._file)


def open_summary(folder: Path | str) -> OpenSummary | None:
    """Open the summary of a run folder, or return None where there is none.

    Raises UnreadableRunError for what cannot be opened or is not a file.
    """
    try:
        file, state = open_regular(f"{folder}/{SUMMARY}", MOST[SUMMARY])
    except FileNotFoundError:
        return None
    if sys.platform != "darwin":
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_WILLNEED)
    return OpenSummary(os.fspath(folder), file, state)


def _summary(path: str, content: bytes) -> Summary:
    """Return the content of a file as a summary."""
    content = content.removeprefix(codecs.BOM_UTF8)
    if content.count(b"[") + content.count(b"{") > BRACKETS and _depth(content) > DEEPEST:
        raise UnreadableRunError(f"{path} is nested deeper than {DEEPEST} levels")
    try:
        summary = _DECODER.decode(content)
    except msgspec.ValidationError as error:
        raise UnreadableRunError(_misfit(path, content, error)) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableRunError(f"{path} cannot be read: {error}") from error
    if summary.schema != SCHEMA:
        raise UnreadableRunError(_other_schema(path, summary.schema))
    complete(summary.config, summary.choices)
    return summary


def error_text(error: BaseException) -> str:
    """Return an error in a line, without secrets: its type and its message.

    Of a RequestError, which is a sentence already, the message alone; of a full disk, a sentence.
    """
    if isinstance(error, RequestError):
        return redacted(str(error))
    if isinstance(error, OSError) and error.errno in FULL:
        what = f": {error.filename} cannot be written" if error.filename else ""
        return redacted(f"{refusal(error)}{what}")
    return redacted(f"{type(error).__name__}: {error}".rstrip(": "))


class _Header(msgspec.Struct):
    """What the summaries of all schema versions have."""

    schema: Any
    config: dict[str, Any]


_DECODER = msgspec.json.Decoder(Summary)

DEEPEST = 50
"""Levels of nesting that a summary may have."""

BRACKETS = 200
"""Brackets up to which nesting is not counted: a run of ours has a quarter of that."""


def _depth(content: bytes) -> int:
    """Return how many brackets are open at once in JSON, outside its strings."""
    depth = deepest = 0
    for bracket in re.sub(rb'"(?:[^"\\]|\\.)*"|[^\[\]{}"]+', b"", content):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _misfit(path: str, content: bytes, error: msgspec.ValidationError) -> str:
    """Return what is wrong with content that does not fit a summary of this schema."""
    try:
        header = msgspec.json.decode(content, type=_Header)
    except msgspec.ValidationError:
        return f"{path} is not the summary of a run"
    except msgspec.DecodeError as damage:
        return f"{path} cannot be read: {damage}"
    if header.schema != SCHEMA:
        return _other_schema(path, header.schema)
    reason, _, field = clean(str(error)).partition(" - at `$.")
    return f"{path} is not the summary of a run: its {field.rstrip('`')} is wrong ({reason})"


def _other_schema(path: str, schema: object) -> str:
    return f"{path} has schema version {schema!r:.60}; this attnexp reads version {SCHEMA}"
