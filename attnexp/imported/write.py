"""Writes runs of other tools as run folders."""

import json
import os
import secrets
import shutil
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from attnexp.core.errors import RequestError, writable
from attnexp.imported.outside import OutsideRun, Request
from attnexp.runs.files import ASIDE, MetricsFile, UnreadableRunError, file_word
from attnexp.runs.place import require_no_run_around
from attnexp.runs.redaction import masked
from attnexp.runs.settings import GROUPS, cell
from attnexp.runs.summary import Summary, read_summary


def write_run(run: OutsideRun, root: Path, tool: str, request: Request) -> bool:
    """Write a run as a folder below `root`, and return whether it was not there before.

    The folder is named by a hash of all that the tool recorded, and appears whole or not at all.
    A setting that is called like a group, such as `model`, is the choice in that group.

    Raises RequestError if the folder holds something else or cannot be written.
    """
    summary = _summary(run, tool, request)
    words = [
        summary.choices[group] for group in ("model", "data", "arch") if group in summary.choices
    ]
    name = f"{file_word('-'.join(words) or tool)}-seed{run.seed}-{summary.key}"
    folder = root / name
    require_no_run_around(folder)
    if _is_there(folder, summary.key):
        return False
    aside = root / f".{name}.{secrets.token_hex(4)}{ASIDE}"
    with writable("--output", root):
        try:
            aside.mkdir(parents=True)
            _write(aside, run, summary)
            try:
                aside.rename(folder)
            except OSError:
                if _is_there(folder, summary.key):  # another process was faster
                    return False
                raise
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    return True


def _is_there(folder: Path, key: str) -> bool:
    """Return whether the run is in its folder. Raises RequestError for anything else in there."""
    if not os.path.lexists(folder):
        return False
    try:
        if read_summary(folder).key == key:
            return True
    except UnreadableRunError:
        pass
    raise RequestError(f"{folder} does not hold the run that it is named after: move it away")


def _write(folder: Path, run: OutsideRun, summary: Summary) -> None:
    if run.epochs:
        columns = dict.fromkeys(name for row in run.epochs for name in row)
        file = MetricsFile(folder)
        for row in run.epochs:
            file.append({name: row.get(name, "") for name in ["epoch", *columns]})
        file.close()
    summary.write(folder)


def _summary(run: OutsideRun, tool: str, request: Request) -> Summary:
    choices = {
        group: str(cell(run.settings[group]))
        for group in GROUPS
        if run.settings.get(group) is not None
    }
    settings = {name: value for name, value in run.settings.items() if name not in GROUPS}
    return Summary(
        schema=1,
        status=run.status,
        key=_key(run, tool),
        choices=choices,
        config={**masked(settings), "seed": run.seed},
        metrics=dict(run.metrics),
        primary=next(iter(run.metrics), None),
        better={name: request.direction(name) for name in run.metrics},
        headline=list(request.metrics or ()),
        seconds=run.seconds,
        started=run.started,
        ended=run.ended,
        error=run.error,
        imported=run.source,
    )


def _key(run: OutsideRun, tool: str) -> str:
    content: Mapping[str, Any] = {
        "tool": tool,
        "name": run.name,
        "seed": run.seed,
        "settings": dict(run.settings),
        "metrics": dict(run.metrics),
        "epochs": [dict(row) for row in run.epochs],
        "status": run.status,
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=True)
    return sha256(text.encode()).hexdigest()[:10]
