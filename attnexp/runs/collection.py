"""Finds run folders and reads their summaries.

What cannot be read is set aside with the reason; one bad folder never spoils a table. Needs neither
pandas nor torch.
"""

import gc
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from attnexp.errors import RequestError
from attnexp.runs import files
from attnexp.runs.cache import Cache, Kept
from attnexp.runs.key import NEUTRAL

Value = str | int | float | bool | None
"""A setting as one cell of a table holds it."""

STATUSES = (files.RUNNING, files.FINISHED, files.FAILED, files.INTERRUPTED)
UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"
BEGUN = (".hydra", "attnexp.log")
"""What a run folder holds before its summary is written."""

FACTS: Mapping[str, tuple[type, ...]] = {
    "results_version": (int,),
    "parameters": (int,),
    "seconds": (int, float),
    "peak_memory_mb": (int, float),
    "device": (str,),
    "started": (str,),
    "ended": (str,),
    "error": (str,),
}
"""What a summary says beside settings and metrics, and the types it may have; null always may."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a table needs of one run.

    `settings` are flat, by dotted path, without the seed and without settings that change no
    number. `metrics` holds only those that are finite numbers. `primary` is not known of a run that
    ended before its task was built. `facts` is how the run came about.
    """

    folder: str
    status: str
    key: str
    seed: int
    choices: dict[str, str]
    settings: dict[str, Value]
    metrics: dict[str, float]
    primary: str | None
    better: dict[str, str]
    facts: dict[str, Value]

    def kept(self) -> Kept:
        """Everything but the folder, to be kept: what is the run's own, and what many share."""
        own = [self.status, self.key, self.seed, self.primary, self.metrics, self.facts]
        return own, [self.choices, self.settings, self.better]


def restored(folder: str, kept: Kept) -> RunSummary:
    """A run from what was kept of it."""
    (status, key, seed, primary, metrics, facts), (choices, settings, better) = kept
    return RunSummary(folder, status, key, seed, choices, settings, metrics, primary, better, facts)


@dataclass
class Collected:
    """The runs below some folders, in order of path, and why other folders were set aside."""

    runs: list[RunSummary] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def collect(roots: Iterable[str | Path]) -> Collected:
    """Read every run at or below the folders; a run that is met twice counts once.

    Raises RequestError for a path that is no folder.
    """
    collected = Collected()
    with without_garbage_collection():
        met: set[tuple[int, int]] = set()
        for root in roots:
            _collect_below(os.fspath(root), collected, met)
    return collected


def _collect_below(root: str, collected: Collected, met: set[tuple[int, int]]) -> None:
    if not os.path.isdir(root):
        there = "is no folder" if os.path.exists(root) else "is not there"
        raise RequestError(f"{root} {there}: give the folder of a run, or one that holds runs")
    cache = Cache(root)
    found = []
    for folder, state in find(root, collected.skipped):
        identity = (state.st_dev, state.st_ino)
        if identity not in met:
            met.add(identity)
            found.append((folder, state, cache.look_up(folder, state)))
    for folder, _, known in found:
        if known is None:
            _announce(f"{folder}/{files.SUMMARY}")
    for folder, state, known in found:
        if known is not None:
            collected.runs.append(restored(clean(folder), known))
            continue
        try:
            run = parse(folder, files.read_summary(Path(folder)))
        except files.UnreadableRunError as error:
            collected.skipped.append(clean(str(error)))
            continue
        collected.runs.append(run)
        cache.keep(folder, state, run.kept())
    cache.save()


def _announce(path: str) -> None:
    """Tell the system that a file will be read, so that the disk fetches many at a time."""
    if not hasattr(os, "posix_fadvise"):
        return
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_WILLNEED)
        finally:
            os.close(descriptor)


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """What is read is kept: looking for cycles in ever more of it takes a fifth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def find(root: str, skipped: list[str]) -> Iterator[tuple[str, os.stat_result]]:
    """The folders at or below `root` that hold a summary, in order of path, and its state.

    Hidden folders and links are not followed, and nothing is sought inside a run. A folder that
    cannot be opened, or that a run has begun in without a summary, adds a sentence to `skipped`.
    """
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        try:
            state = os.stat(f"{folder}/{files.SUMMARY}")
        except OSError:
            pass
        else:
            if stat.S_ISREG(state.st_mode):
                yield folder, state
            else:
                skipped.append(clean(f"{folder}/{files.SUMMARY} is no file"))
            continue
        try:
            with os.scandir(folder) as entries:
                inside = sorted(entries, key=lambda entry: entry.name, reverse=True)
        except OSError as error:
            skipped.append(clean(f"{folder} cannot be opened: {error.strerror}"))
            continue
        if any(entry.name in BEGUN for entry in inside):
            skipped.append(clean(f"{folder} holds no {files.SUMMARY} yet, or never will"))
            continue
        waiting += [
            entry.path
            for entry in inside
            if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
        ]


def parse(folder: str, content: Mapping[str, Any]) -> RunSummary:
    """The fields that tables need from the content of a summary.json.

    Raises UnreadableRunError for a field that is missing or of another type.
    """
    try:
        settings = flatten(content["config"])
        seed = settings.pop("seed", None)
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise _WrongFieldError("seed", seed)
        status = content.get("status")
        if status not in STATUSES:
            raise _WrongFieldError("status", status)
        facts = {name: _fact(content, name, types) for name, types in FACTS.items()}
        better = _texts(content, "better")
        return RunSummary(
            folder=clean(folder),
            status=status,
            key=_text(content, "key"),
            seed=seed,
            choices=_texts(content, "choices"),
            settings=settings,
            metrics=_numbers(content, "metrics"),
            primary=cast(str | None, _fact(content, "primary", (str,))),
            better={name: way for name, way in better.items() if way in ("lower", "higher")},
            facts=facts | _origin(content),
        )
    except _WrongFieldError as error:
        raise files.UnreadableRunError(
            f"{folder}/{files.SUMMARY} is not the summary of a run: its {error}"
        ) from None


class _WrongFieldError(Exception):
    """A field of a summary is not what it should be."""

    def __init__(self, name: str, value: object) -> None:
        text = repr(value)
        super().__init__(f"{name} is {text if len(text) < 60 else text[:57] + '...'}")


def flatten(config: Mapping[str, Any]) -> dict[str, Value]:
    """The leaves of a configuration by dotted path, without the neutral settings."""
    flat: dict[str, Value] = {}
    _flatten("", config, flat)
    return flat


def _flatten(path: str, config: Mapping[str, Any], flat: dict[str, Value]) -> None:
    for key, value in config.items():
        inside = _joined(path, key)
        if inside in NEUTRAL:
            continue
        if type(value) is dict:
            _flatten(inside, value, flat)
        else:
            flat[inside] = value if type(value) is int else _cell(value)


@lru_cache(maxsize=4096)
def _joined(path: str, key: str) -> str:
    return f"{path}.{clean(key)}" if path else clean(key)


def clean(text: str) -> str:
    """Text that can be printed: halves of surrogate pairs and control characters are marked."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else UNPRINTABLE for letter in text)


def _cell(value: Any) -> Value:
    """1.0 and 1 are one number, as in a run's key; a list is its text."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, list):
        return _listed(value)
    return clean(value) if isinstance(value, str) else value


def _listed(value: Any) -> str:
    """What stands in a list, as it is written on the command line."""
    if isinstance(value, list):
        return f"[{', '.join(map(_listed, value))}]"
    if isinstance(value, dict):
        inside = (f"{clean(key)}: {_listed(entry)}" for key, entry in value.items())
        return f"{{{', '.join(inside)}}}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(_cell(value))


def _origin(content: Mapping[str, Any]) -> dict[str, Value]:
    """Which code computed the run."""
    versions = content.get("versions")
    git = content.get("git")
    versions = versions if isinstance(versions, dict) else {}
    git = git if isinstance(git, dict) else {}
    return {
        "attnexp": _fact(versions, "attnexp", (str,)),
        "torch": _fact(versions, "torch", (str,)),
        "commit": _fact(git, "commit", (str,)),
        "dirty": _fact(git, "dirty", (bool,)),
    }


def _fact(content: Mapping[str, Any], name: str, types: tuple[type, ...]) -> Value:
    value = content.get(name)
    if value is not None and type(value) not in types:
        raise _WrongFieldError(name, value)
    return clean(value) if isinstance(value, str) else cast(Value, value)


def _text(content: Mapping[str, Any], name: str) -> str:
    value = content.get(name)
    if not isinstance(value, str):
        raise _WrongFieldError(name, value)
    return clean(value)


def _texts(content: Mapping[str, Any], name: str) -> dict[str, str]:
    value = content.get(name)
    if not isinstance(value, dict) or not all(isinstance(entry, str) for entry in value.values()):
        raise _WrongFieldError(name, value)
    return {clean(key): clean(entry) for key, entry in value.items()}


def _numbers(content: Mapping[str, Any], name: str) -> dict[str, float]:
    value = content.get(name)
    if not isinstance(value, dict):
        raise _WrongFieldError(name, value)
    numbers = {}
    for key, entry in value.items():
        if entry is not None and (isinstance(entry, bool) or not isinstance(entry, int | float)):
            raise _WrongFieldError(f"{name}.{key}", entry)
        if entry is not None and abs(entry) <= sys.float_info.max:
            numbers[clean(key)] = float(entry)
    return numbers
