"""Runs of Trackio: an SQLite database per project."""

from pathlib import Path

from attnexp.core.errors import RequestError
from attnexp.imported.attempts import LoggedPoint
from attnexp.imported.database import json_object, opened
from attnexp.imported.naming import RUN
from attnexp.imported.outside import ImportRequest, OutsideRun
from attnexp.imported.tracked import Tracked, outside_runs


def read(path: Path, request: ImportRequest) -> tuple[list[OutsideRun], list[str]]:
    """Return the runs of a project, and notes on omissions.

    The tables are `metrics` (run_name, step, timestamp, metrics) and `configs` (run_name, config),
    in which numbers and settings are objects of JSON; newer ones have a run_id. A run has no
    status, so each counts as finished.

    Raises RequestError for a file that is not such a database, or is damaged.
    """
    runs: dict[str, Tracked] = {}

    def run_of(row: dict[str, object]) -> Tracked:
        name, project = str(row["run_name"]), row["project_name"]
        identity = str(row["run_id"] or f"{path.resolve()}, {project or ''}, {name}")
        names = {"project": str(project), RUN: name} if project else {RUN: name}
        return runs.setdefault(identity, Tracked(f"the run {name} of {path.name}", identity, names))

    ids = ("project_name", "run_id")
    with opened(path) as database:
        for row in database.rows("metrics", ["run_name", "step", "metrics"], [*ids, "timestamp"]):
            run, step, when = run_of(row), row["step"], row["timestamp"]
            if not isinstance(step, int):
                raise RequestError(f"{run.source} is damaged: its step is {step!r:.60}")
            run.points.append(LoggedPoint(step, json_object(row["metrics"], run.source)))
            run.started = run.started or (when if isinstance(when, str) else None)
            run.ended = when if isinstance(when, str) else run.ended
        if database.columns("configs"):
            for row in database.rows("configs", ["run_name", "config"], ids):
                run = run_of(row)
                run.config = json_object(row["config"], run.source)
                group = run.config.get("_Group")
                run.names = {"group": group, **run.names} if isinstance(group, str) else run.names
    return outside_runs(runs.values())
