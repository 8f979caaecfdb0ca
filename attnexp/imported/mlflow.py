"""Runs of MLflow: its SQLite database, or its older store of files, `mlruns`."""

import math
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from attnexp.core.errors import RequestError
from attnexp.imported.attempts import LoggedPoint
from attnexp.imported.database import opened
from attnexp.imported.naming import RUN
from attnexp.imported.outside import ImportRequest, OutsideRun, value_of
from attnexp.imported.tracked import NOT_ENDED, Tracked, outside_runs
from attnexp.runs.files import read_bytes
from attnexp.runs.run_status import Status

STATUSES = ("RUNNING", "SCHEDULED", "FINISHED", "FAILED", "KILLED")
"""The statuses of a run, in the order of their numbers in the store of files, from 1."""

ENDED = {"FINISHED": Status.FINISHED, "FAILED": Status.FAILED}
"""The statuses of runs that were not interrupted."""

META = "meta.yaml"
"""The file of the store of files that describes a run or an experiment."""


PARENT = "mlflow.parentRunId"
"""The tag of a run that another one contains."""


def read(path: Path, request: ImportRequest) -> tuple[list[OutsideRun], list[str]]:
    """Return the runs of a database, or at or below a folder of the store of files, and notes.

    Parameters are settings. Runs that were deleted in MLflow are left out, and so are those that
    contain others, whose numbers are the best ones or the means of theirs.

    Raises RequestError for files that are damaged, or are none of MLflow.
    """
    runs, parents = _of_folder(path) if os.path.isdir(path) else _of_database(path)
    containing = {parents[run.identity] for run in runs if run.identity in parents}
    left = [run for run in runs if run.identity in containing]
    found, notes = outside_runs(run for run in runs if run.identity not in containing)
    names = ", ".join(run.source for run in left[:3]) + ", ..." * (len(left) > 3)
    return found, [*notes, *[f"left out: {names}: they contain other runs"] * bool(left)]


def _of_database(path: Path) -> tuple[list[Tracked], dict[str, str]]:
    runs: dict[str, Tracked] = {}
    facts = ["name", "status", "start_time", "end_time", "lifecycle_stage", "experiment_id"]
    with opened(path) as database:
        experiments = {}
        if database.columns("experiments"):
            for row in database.rows("experiments", ["experiment_id", "name"]):
                experiments[row["experiment_id"]] = str(row["name"])
        for row in database.rows("runs", ["run_uuid"], facts):
            if row["lifecycle_stage"] != "deleted":
                number, experiment = str(row["run_uuid"]), experiments.get(row["experiment_id"])
                runs[number] = _run(number, row["name"], experiment, str(row["status"]), row, path)
        for row in database.rows("params", ["run_uuid", "key", "value"]):
            if (run := runs.get(str(row["run_uuid"]))) is not None:
                run.config = {**run.config, str(row["key"]): value_of(str(row["value"]))}
        parents: dict[str, str] = {}
        if database.columns("tags"):
            for row in database.rows("tags", ["run_uuid", "key", "value"]):
                if row["key"] == PARENT and str(row["run_uuid"]) in runs:
                    parents[str(row["run_uuid"])] = str(row["value"])
        columns = ["run_uuid", "key", "value", "step"]
        for row in database.rows("metrics", columns, ["is_nan"], "timestamp, step"):
            if (run := runs.get(str(row["run_uuid"]))) is not None:
                value = math.nan if row["is_nan"] else row["value"]
                if not isinstance(row["step"], int) or not isinstance(value, int | float):
                    raise RequestError(f"{run.source} is damaged: {row['key']} is not a number")
                run.points.append(LoggedPoint(row["step"], {str(row["key"]): value}))
    return [*runs.values()], parents


def _of_folder(path: Path) -> tuple[list[Tracked], dict[str, str]]:
    runs: list[Tracked] = []
    parents: dict[str, str] = {}
    for folder, folders, names in os.walk(path):
        if META in names and "metrics" in folders:
            folders.clear()
            if (run := _stored(Path(folder), path)) is not None:
                runs.append(run)
                tags = dict(_texts(Path(folder) / "tags"))
                parents |= {run.identity: tags[PARENT]} if PARENT in tags else {}
    return sorted(runs, key=lambda run: (run.started or "", run.identity)), parents


def _stored(folder: Path, root: Path) -> Tracked | None:
    """Return the run in a folder of the store of files, None for one that was deleted."""
    meta = _meta(folder)
    if meta.get("lifecycle_stage") == "deleted":
        return None
    number = meta.get("status")
    status = dict(enumerate(STATUSES, 1)).get(number if isinstance(number, int) else 0, "")
    experiment = _meta(folder.parent).get("name") if os.path.exists(folder.parent / META) else None
    run = _run(folder.name, meta.get("run_name"), experiment, status, meta, root)
    run.config = {name: value_of(text) for name, text in _texts(folder / "params")}
    points = []
    for name, text in _texts(folder / "metrics"):
        for line in text.splitlines():
            try:
                when, value, step = [*line.split(), "0"][:3]
                points.append((int(when), int(step), name, float(value)))
            except ValueError as error:
                raise RequestError(f"{run.source} is damaged: {name} has {line!r:.60}") from error
    points.sort(key=lambda point: point[:2])
    run.points = [LoggedPoint(step, {name: value}) for _, step, name, value in points]
    return run


def _meta(folder: Path) -> Mapping[str, Any]:
    try:
        meta = yaml.safe_load(read_bytes(folder / META).decode())
    except (yaml.YAMLError, ValueError, RecursionError):
        meta = None
    if not isinstance(meta, dict):
        raise RequestError(f"{folder / META} is damaged: it holds no settings in YAML")
    return meta


def _texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the path below a folder and the text of each of its files; links are left out."""
    for place, _, names in os.walk(folder):
        for name in sorted(names):
            path = Path(place, name)
            if not path.is_symlink():
                text = read_bytes(path).decode(errors="replace")
                yield path.relative_to(folder).as_posix(), text


def _run(
    number: str, name: object, experiment: object, status: str, row: Mapping[str, Any], path: Path
) -> Tracked:
    ended = ENDED.get(status, Status.INTERRUPTED)
    errors = {Status.FAILED: "it failed in MLflow", Status.FINISHED: None}
    killed = "it was killed" if status == "KILLED" else NOT_ENDED
    names = {"experiment": experiment, RUN: name}
    return Tracked(
        source=f"the run {name or number} of {path.name}",
        identity=number,
        names={kind: str(each) for kind, each in names.items() if each},
        status=ended,
        started=_date(row.get("start_time")),
        ended=_date(row.get("end_time")),
        error=errors.get(ended, killed),
    )


def _date(milliseconds: object) -> str | None:
    try:
        if isinstance(milliseconds, int):
            return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        pass
    return None
