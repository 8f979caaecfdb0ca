"""Writes runs of other tools as run folders."""

import csv
import io
import json
import math
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Literal

import msgspec

from attnexp.core.errors import RequestError, writable
from attnexp.imported.naming import RUN
from attnexp.imported.outside import SEED
from attnexp.imported.selection import CHOICES, SelectedRun, Selection
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
from attnexp.runs.settings import Value
from attnexp.runs.summary import DIVERGED, Summary, read_summary

Written = Literal["new", "the same", "replaced"]


LEFTOVER = re.compile(rf"\..+-seed\d+-[0-9a-f]{{10}}\.[0-9a-f]{{8}}{re.escape(ASIDE)}")
"""The folders that an import leaves if its process is killed."""

ABANDONED = 3600.0
"""Seconds after which such a folder is not that of another import that is going on."""


class Imports:
    """A folder into which the runs of one source are written.

    A run has a key: a hash of the tool and of the identity of the run. Its folder is named after
    its choices, its seed and its key, and is found by the key alone.

    Raises RequestError if the folder lies inside a run or is a file.
    """

    def __init__(self, root: Path, tool: str, source: Path) -> None:
        require_no_run_around(root / "run")
        self._root = root
        self._tool = tool
        self._source = str(source.resolve())
        self._origin = f"{tool}-{_digest([tool, self._source])}"
        self._when = datetime.now(UTC).isoformat()
        with writable("--output", root):
            names = os.listdir(root) if os.path.lexists(root) else []
            for name in filter(LEFTOVER.fullmatch, names):
                if time.time() - (root / name).stat().st_mtime > ABANDONED:
                    shutil.rmtree(root / name)
        self._there = {name.rpartition("-")[2]: name for name in names if name[:1] != "."}

    def write(self, selected: SelectedRun, selection: Selection) -> Written:
        """Write a run: as a new folder, which appears whole or not at all, or in place of its own.

        In a folder that is there the summary and the curves are replaced, and nothing else.

        Raises RequestError if the folder holds something else or cannot be written.
        """
        summary = self._summary(selected, selection)
        curves = _curves(selected, selection.headline)
        with writable("--output", self._root):
            if known := self._there.pop(summary.key, None):
                return self._replace(known, curves, summary)
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
                    return self._replace(name, curves, summary)  # another process was faster
            finally:
                shutil.rmtree(aside, ignore_errors=True)
        return "new"

    def earlier(self) -> Iterator[Summary]:
        """Yield the summaries of the runs of the same tool that are there."""
        for name in sorted(self._there.values()):
            with suppress(UnreadableRunError):
                summary = read_summary(self._root / name)
                if (summary.imported_from or "").startswith(f"{self._tool}-"):
                    yield summary

    def require_apart(self, selection: Selection) -> None:
        """Raise RequestError for a run that would be taken for one that was imported before.

        It has its settings and seed, and another name. A run of a table has no other identity.
        """
        new = {self._key(one): one for one in selection if one.run.identity}
        others = (one for one in self.earlier() if new and one.key not in new)
        known = {_compared(one): one for one in others}
        for one in new.values():
            other = known.get((one.seed, frozenset(one.settings.items())))
            if other is not None and other.name != one.run.names.get(RUN):
                raise RequestError(
                    f"{one.run.source} has the settings and seed {one.seed} of {other.imported}, "
                    "which was imported before: import both at once, from a folder around them, or "
                    "name each by --name-as SETTING"
                )

    def gone(self) -> list[Path]:
        """Return the folders of the runs of the source that were not written this time."""
        found = []
        for name in sorted(self._there.values()):
            try:
                if read_summary(self._root / name).imported_from == self._origin:
                    found.append(self._root / name)
            except UnreadableRunError:
                continue
        return found

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
        if kept != curves and curves:
            write_bytes(folder / METRICS, curves)
        elif kept != curves:
            (folder / METRICS).unlink()
        summary.write(folder)
        moved = msgspec.structs.replace(dated, imported=summary.imported)
        return "the same" if kept == curves and moved == summary else "replaced"

    def _key(self, selected: SelectedRun) -> str:
        own = [self._source, selected.seed, sorted(selected.settings.items())]
        return _digest([self._tool, selected.run.identity or own])

    def _summary(self, selected: SelectedRun, selection: Selection) -> Summary:
        run, primary = selected.run, selected.primary
        value = selected.metrics.get(primary or "", 0.0)
        diverged = f"{DIVERGED}{primary} is {value}" if not is_finite(value) else None
        choices = {name: str(v) for name, v in selected.settings.items() if name in CHOICES}
        settings = {name: v for name, v in selected.settings.items() if name not in CHOICES}
        return Summary(
            schema=1,
            status=Status.FAILED if diverged else run.status,
            key=self._key(selected),
            choices=choices,
            config={**{n: _written(v) for n, v in settings.items()}, "seed": selected.seed},
            metrics={n: v if is_finite(v) else None for n, v in selected.metrics.items()},
            primary=primary,
            better={n: way for n, way in selection.better.items() if n in selected.metrics},
            headline=list(selection.headline),
            started=run.started,
            ended=run.ended,
            error=diverged or run.error,
            imported=run.source,
            imported_at=self._when,
            imported_from=self._origin,
            name=run.names.get(RUN),
            named=dict(selection.telling),
            last_step=run.last_step,
        )


def _written(value: Value) -> Value:
    """Return a setting as JSON can hold it: an infinite number or NaN is text."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _curves(selected: SelectedRun, asked: Sequence[str]) -> bytes:
    """Return metrics.csv of a run with the metrics asked for, or all; empty if it has no curve."""
    rows = [
        {name: value for name, value in row.items() if name in asked or name == "epoch"}
        for row in selected.run.epochs
    ]
    rows = [row for row in rows if len(row) > 1] if asked else [*map(dict, selected.run.epochs)]
    if len(rows) < 2:
        return b""
    columns = dict.fromkeys(["epoch", *(name for row in rows for name in row)])
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _compared(summary: Summary) -> tuple[int, frozenset[tuple[str, object]]]:
    """Return the seed and the settings of a run that was imported."""
    settings = {name: value for name, value in summary.config.items() if name != SEED}
    return summary.seed, frozenset({**settings, **summary.choices}.items())


def _digest(content: object) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=True)
    return sha256(text.encode()).hexdigest()[:10]
