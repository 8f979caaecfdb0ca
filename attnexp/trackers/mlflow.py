"""MLflow."""

import logging
import math
import os
import re
import time
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnexp.runs import files
from attnexp.runs.lock import hold
from attnexp.runs.settings import leaves
from attnexp.runs.summary import Summary
from attnexp.trackers.base import Tracker, pictures, require

if TYPE_CHECKING:
    from mlflow import MlflowClient

STORE, ARTIFACTS = "mlflow.db", "mlflow-artifacts"
"""The files of the local store, next to the runs."""

MOST = 100
"""Parameters that MLflow takes at once."""

LEVELS = {
    "mlflow": logging.WARNING,
    "mlflow.store.db.utils": logging.CRITICAL,
    "alembic": logging.WARNING,
}
"""What MLflow prints. The store's own errors it prints with their tracebacks, and raises, too."""

STATUSES = {
    "finished": "FINISHED",
    "failed": "FAILED",
    "interrupted": "KILLED",
}


class MLflow(Tracker):
    """A run in an MLflow store: settings as parameters, metrics by epoch, final ones, pictures.

    `uri` is the address of the store, such as a server's; null is an SQLite file next to the run
    folders, which `mlflow ui --backend-store-uri sqlite:///outputs/mlflow.db` shows. Columns of
    metrics.csv are metrics called `train.NAME`, final metrics keep their names. MLflow's own usage
    statistics are switched off unless MLFLOW_DISABLE_TELEMETRY is set.

    Raises ValueError where the package mlflow is not installed.
    """

    def __init__(self, experiment: str = "attnexp", uri: str | None = None) -> None:
        require("mlflow", "mlflow")
        self.experiment = experiment
        self.uri = uri
        self._client: MlflowClient | None = None
        self._run = ""

    def begin(self, folder: Path, summary: Summary) -> None:
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
        from mlflow import MlflowClient
        from mlflow.entities import Param

        for name, level in LEVELS.items():
            logging.getLogger(name).setLevel(level)
        parent = folder.resolve().parent
        # Two processes that make the local store at once would leave half of one.
        with hold(parent / ARTIFACTS, _wait) if self.uri is None else nullcontext():
            self._client = MlflowClient(self.uri or f"sqlite:///{parent / STORE}")
            experiment = self._experiment_id(parent)
        run = self._client.create_run(experiment, run_name=folder.name)
        self._run = run.info.run_id
        self._client.set_tag(self._run, "key", summary.key)
        self._client.set_tag(self._run, "folder", str(folder))
        params = [Param(_word(name), str(value)) for name, value in leaves(summary.config)]
        for first in range(0, len(params), MOST):
            self._client.log_batch(self._run, params=params[first : first + MOST])

    def epoch(self, row: Mapping[str, Any]) -> None:
        named = {f"train.{name}": value for name, value in row.items() if name != "epoch"}
        self._log(named, int(row["epoch"]))

    def end(self, folder: Path, summary: Summary) -> None:
        assert self._client is not None
        self._log(summary.metrics, 0)
        for path in pictures(folder):
            self._client.log_artifact(self._run, str(path), files.FIGURES)
        self._client.set_terminated(self._run, STATUSES[summary.status])

    def _log(self, values: Mapping[str, Any], step: int) -> None:
        from mlflow.entities import Metric

        assert self._client is not None
        now = int(1000 * time.time())
        metrics = [
            Metric(_word(name), float(value), now, step)
            for name, value in values.items()
            if value is not None and math.isfinite(value)
        ]
        self._client.log_batch(self._run, metrics=metrics)

    def _experiment_id(self, parent: Path) -> str:
        """Return the id of the experiment, which is created where it is not there yet."""
        from mlflow.exceptions import MlflowException

        assert self._client is not None
        place = None if self.uri else (parent / ARTIFACTS).as_uri()
        try:
            return self._client.create_experiment(self.experiment, artifact_location=place)
        except MlflowException:  # it is there
            found = self._client.get_experiment_by_name(self.experiment)
            if found is None:
                raise
        return found.experiment_id


def _wait(holder: str) -> None:
    """Wait without a message: making a store takes seconds."""


def _word(name: str) -> str:
    """A name with characters that MLflow accepts."""
    return re.sub(r"[^\w\-. /]", "_", name)
