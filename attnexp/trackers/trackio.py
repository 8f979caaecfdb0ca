"""Trackio."""

import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from attnexp.core import console
from attnexp.runs import files
from attnexp.runs.summary import Summary
from attnexp.trackers.base import FINAL, TRAINING, Tracker, settings_of
from attnexp.trackers.project import require_project

PAUSE = 1.0
"""Seconds between two times of writing: one takes about as long as ten short epochs."""


class Trackio(Tracker):
    """A run in Trackio's database on this machine, so that `trackio show` draws its curves.

    The database is `PROJECT.db` in Trackio's folder, which the environment variable TRACKIO_DIR
    names. Columns of metrics.csv are under `train/` by epoch, and are written about once a second.
    The last row has the final metrics under `final/`, the pictures and `status`. The name is that
    of the run's folder. An earlier attempt at the run is removed from the database: a run that goes
    on records the epochs of its checkpoint again. Nothing is sent anywhere.

    Raises ValueError for a project whose name has characters other than a-z, A-Z, 0-9, - and _.
    """

    packages = MappingProxyType({"trackio": "attnexp[trackio]"})

    def __init__(self, project: str = "attnexp") -> None:
        require_project(project)
        self.project = project
        self._rows: list[tuple[int, dict[str, Any]]] = []
        self._name = ""
        self._key = ""
        self._config: Mapping[str, Any] = {}
        self._last = 0
        self._written = 0.0

    def begin(self, folder: Path, summary: Summary) -> None:
        with console.status("loading trackio"):
            from trackio.sqlite_storage import SQLiteStorage

        SQLiteStorage.validate_project_name(self.project)
        self._name, self._key, self._config = folder.name, summary.key, settings_of(summary)
        database = SQLiteStorage.init_db(self.project)
        SQLiteStorage.delete_run(self.project, self._name, run_id=self._key)
        self._written = time.monotonic()
        console.print_line(
            f"trackio: written to {console.relative(database)}; "
            f"to see the curves: trackio show --project {self.project}"
        )

    def epoch(self, row: Mapping[str, Any]) -> None:
        self._last = int(row["epoch"])
        self._rows.append(
            (self._last, {TRAINING + name: row[name] for name in row if name != "epoch"})
        )
        if time.monotonic() - self._written >= PAUSE:
            self._write()

    def end(self, folder: Path, summary: Summary) -> None:
        final = {
            FINAL + name: value for name, value in summary.metrics.items() if value is not None
        }
        pictures = {
            path.stem: self._picture(path)
            for path in sorted((folder / files.FIGURES).glob("*.png"))
        }
        self._rows.append((self._last, {**final, **pictures, "status": str(summary.status)}))
        self._write()

    def _write(self) -> None:
        # `trackio.log` would write in a thread, whose errors end no call, and `trackio.init` would
        # ask Hugging Face for the user's name.
        from trackio.sqlite_storage import SQLiteStorage

        rows, self._rows = self._rows, []
        SQLiteStorage.bulk_log(
            self.project,
            self._name,
            [values for _, values in rows],
            steps=[step for step, _ in rows],
            config=dict(self._config),
            run_id=self._key,
        )
        self._written = time.monotonic()

    def _picture(self, path: Path) -> dict[str, Any]:
        from trackio import Image

        image = Image(path)
        image._save(self.project, self._name, self._last)
        return image._to_dict()
