"""Writes runs that other programs have trained as run folders."""

import csv
import io
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec

from attnexp.core.errors import RequestError, writable
from attnexp.imported.naming import RUN
from attnexp.imported.outside import SEED
from attnexp.imported.selection import CHOICES, SelectedRun
from attnexp.runs.files import (
    ASIDE,
    METRICS,
    UnreadableRunError,
    file_word,
    is_finite,
    read_bytes,
    write_bytes,
)
from attnexp.runs.place import require_no_run_around
from attnexp.runs.run_status import Status
from attnexp.runs.summary import DIVERGED, Summary, read_summary

Written = Literal["new", "the same", "replaced"]


LEFTOVER = re.compile(rf"\..+-seed\d+-[0-9a-f]{{10}}\.[0-9a-f]{{8}}{re.escape(ASIDE)}")
"""The folders that an import leaves if its process is killed."""

ABANDONED = 3600.0
"""Seconds after which such a folder is not that of another import that is going on."""


class Imports:
    """A folder into which the runs of one source are written.

    A run has a key: a hash of the tool, `csv` or `python`, and of the identity of the run. Its
    folder is named after its choices, its seed and its key, and is found by the key alone.
    `option` is what names the root, in errors.

    Raises RequestError if the folder lies inside a run or is a file.
    """

    def __init__(self, root: Path, tool: str, source: str, option: str = "--output") -> None:
        require_no_run_around(root / "run")
        self._root = root
        self._tool = tool
        self._source = source
        self._option = option
        self._origin = f"{tool}-{_digest([tool, self._source])}"
        self._when = datetime.now(UTC).isoformat()
        with writable(option, root):
            names = os.listdir(root) if os.path.lexists(root) else []
            for name in filter(LEFTOVER.fullmatch, names):
                with suppress(FileNotFoundError):  # another process has just given it its name
                    if time.time() - (root / name).stat().st_mtime > ABANDONED:
                        shutil.rmtree(root / name)
        self._there = {name.rpartition("-")[2]: name for name in names if name[:1] != "."}

    def write(self, selected: SelectedRun) -> tuple[Path, Written]:
        """Write a run: as a new folder, which appears whole or not at all, or in place of its own.

        In a folder that is there the summary and the curves are replaced, and nothing else. Return
        the folder.

        Raises RequestError if the folder holds something else or cannot be written.
        """
        summary = self._summary(selected)
        curves = _curves(selected.epochs)
        with writable(self._option, self._root):
            if known := self._there.pop(summary.key, None):
                return self._root / known, self._replace(known, curves, summary)
            words = [summary.choices[g] for g in ("model", "data", "arch") if g in summary.choices]
            word = file_word("-".join(words)) or self._tool
            name = f"{word}-seed{summary.seed}-{summary.key}"
            aside = self._root / f".{name}.{secrets.token_hex(4)}{ASIDE}"
            try:
                aside.mkdir(parents=True)
                if curves:
                    write_bytes(aside / METRICS, curves)
                summary.write(aside)
                try:
                    aside.rename(self._root / name)
                except OSError:
                    if not os.path.lexists(self._root / name):
                        raise
                    # another process was faster
                    return self._root / name, self._replace(name, curves, summary)
            finally:
                shutil.rmtree(aside, ignore_errors=True)
        return self._root / name, "new"

    def _earlier(self, part: str = "") -> Iterator[tuple[Path, Summary]]:
        """Yield the imported runs that are there, but for those that were written this time.

        `part` is in the names of their folders.
        """
        for name in sorted(name for name in self._there.values() if part in name):
            with suppress(UnreadableRunError):
                summary = read_summary(self._root / name)
                if summary.imported is not None:
                    yield self._root / name, summary

    def _is_own(self, summary: Summary) -> bool:
        return (summary.imported_from or "").startswith(f"{self._tool}-")

    def telling(self) -> str | None:
        """Return the setting that names of this tool became in the last run that is there."""
        own = (one.named.get(RUN) for _, one in self._earlier() if self._is_own(one))
        return next(filter(None, reversed([*own])), None)

    def require_apart(self, selection: Iterable[SelectedRun]) -> None:
        """Raise RequestError for a run that would be taken for one that was imported before.

        It has its settings and seed, and another name. A run of a table has no other identity.
        """
        new = {self._key(one): one for one in selection if one.run.identity}
        others = (one for _, one in (self._earlier() if new else ()) if self._is_own(one))
        known = {_digest(_compared(one)): one for one in others if one.key not in new}
        for one in new.values():
            other = known.get(_digest([one.seed, one.settings]))
            if other is not None and other.name != one.run.name:
                raise RequestError(
                    f"{one.run.source} has the settings and seed {one.seed} of {other.imported}, "
                    "which was imported before: name each by --name-as SETTING"
                )

    def require_own(self, selected: SelectedRun) -> None:
        """Raise RequestError if another tool has written a run of these settings, seed and name."""
        own = [selected.seed, selected.settings]
        for folder, other in self._earlier(f"-seed{selected.seed}-"):
            alike = _compared(other) == own and other.name == selected.run.name
            if alike and not self._is_own(other):
                raise RequestError(
                    f"{folder} holds the run of these settings, seed {selected.seed} and name, and "
                    f"came from {other.imported}: remove it, or choose another {self._option}"
                )

    def gone(self) -> list[Path]:
        """Return the folders of the runs of the source that were not written this time."""
        return [folder for folder, one in self._earlier() if one.imported_from == self._origin]

    def _replace(self, name: str, curves: bytes, summary: Summary) -> Written:
        folder = self._root / name
        try:
            before = read_summary(folder)
        except UnreadableRunError:
            before = None
        if before is None or before.imported is None or before.key != summary.key:
            raise RequestError(
                f"{folder} does not hold the run that it is named after: move it away"
            )
        try:
            kept = read_bytes(folder / METRICS)
        except FileNotFoundError:
            kept = b""
        dated = msgspec.structs.replace(before, imported_at=summary.imported_at)
        if kept != curves and curves:  # a disk that is full leaves both as they were
            write_bytes(folder / METRICS, curves, lambda: summary.write(folder))
        else:
            summary.write(folder)
        if kept and not curves:
            (folder / METRICS).unlink()
        moved = msgspec.structs.replace(dated, imported=summary.imported)
        return "the same" if kept == curves and moved == summary else "replaced"

    def _key(self, selected: SelectedRun) -> str:
        own = [self._source, selected.seed, sorted(selected.settings.items())]
        return _digest([self._tool, selected.run.identity or own])

    def _summary(self, selected: SelectedRun) -> Summary:
        run, primary, metrics = selected.run, selected.primary, selected.metrics
        value = metrics.get(primary or "", 0.0)
        diverged = f"{DIVERGED}{primary} is {value}" if not is_finite(value) else None
        settings = dict(selected.settings)
        choices = {name: str(settings.pop(name)) for name in selected.settings if name in CHOICES}
        return Summary(
            schema=1,
            status=Status.FAILED if diverged else run.status,
            key=self._key(selected),
            choices=choices,
            config={**settings, SEED: selected.seed},
            metrics={n: v if is_finite(v) else None for n, v in metrics.items()},
            primary=primary,
            better={n: way for n, way in selected.better.items() if n in metrics},
            headline=list(selected.headline),
            error=diverged or run.error,
            imported=run.source,
            imported_at=self._when,
            imported_from=self._origin,
            name=run.name,
            named={RUN: selected.telling} if selected.telling else {},
            last_step=run.last_step,
        )


def _curves(rows: Sequence[Mapping[str, float | None]]) -> bytes:
    """Return metrics.csv of these rows; empty if they are no curve."""
    if len(rows) < 2:
        return b""
    columns = dict.fromkeys(["epoch", *(name for row in rows for name in row)])
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _compared(summary: Summary) -> list[object]:
    """Return the seed and the settings of a run that was imported."""
    settings = {name: value for name, value in summary.config.items() if name != SEED}
    return [summary.seed, {**settings, **summary.choices}]


def _digest(content: object) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=True)
    return sha256(text.encode()).hexdigest()[:10]
