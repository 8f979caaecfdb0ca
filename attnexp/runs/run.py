"""A run as it lies on disk, for whoever draws it. NumPy only."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnexp.errors import RequestError
from attnexp.runs import files
from attnexp.runs.attention_maps import Attention, as_attention


@dataclass(frozen=True)
class StoredRun:
    """A run folder and its summary; the other files are read when they are needed."""

    folder: Path
    summary: Mapping[str, Any] = field(repr=False)

    @property
    def model(self) -> str:
        """The name of the scoring function."""
        return str(self.summary["choices"].get("model", "?"))

    @property
    def data(self) -> str:
        """The name of the data set."""
        return str(self.summary["choices"].get("data", "?"))

    @property
    def seed(self) -> int:
        """The run's seed."""
        return int(self.summary["config"].get("seed", 0))

    @property
    def title(self) -> str:
        """Model, data and seed, as in `additive on reverse, seed 0`."""
        return f"{self.model} on {self.data}, seed {self.seed}"

    @property
    def primary(self) -> str:
        """The primary metric and its value, or nothing where it was not measured."""
        name = self.summary["primary"]
        value = self.summary["metrics"].get(name)
        return "" if value is None else f"{name} {value:.3g}"

    @cached_property
    def metrics(self) -> dict[str, NDArray[np.float64]]:
        """metrics.csv by column; empty where nothing was trained."""
        try:
            rows = files.read_metrics(self.folder)
        except files.UnreadableRunError as error:
            raise RequestError(str(error)) from error
        return {key: np.array([row[key] for row in rows]) for key in rows[0]} if rows else {}

    @cached_property
    def predictions(self) -> list[dict[str, str]]:
        """predictions.csv, a dictionary a row."""
        return files.read_rows(self.folder / files.PREDICTIONS)

    @property
    def has_attention(self) -> bool:
        """Whether the run came far enough to store its attention."""
        return (self.folder / files.ATTENTION).is_file()

    @cached_property
    def attention(self) -> Attention:
        """The stored attention. Raises RequestError where the run stored none."""
        tensors = self._tensors(files.ATTENTION)
        if tensors is None:
            raise RequestError(f"{self.folder} holds no {files.ATTENTION}")
        return as_attention(*tensors)

    @cached_property
    def snapshots(self) -> dict[int, Attention]:
        """The attention after each of some epochs; empty where none was kept."""
        tensors = self._tensors(files.SNAPSHOTS)
        if tensors is None:
            return {}
        arrays, metadata = tensors
        epochs = arrays.pop("epochs").tolist()
        whole = as_attention(arrays, metadata)
        return {
            epoch: replace(whole, weights={name: w[i] for name, w in whole.weights.items()})
            for i, epoch in enumerate(epochs)
        }

    def _tensors(self, name: str) -> tuple[dict[str, NDArray[Any]], dict[str, Any]] | None:
        try:
            return files.read_tensors(self.folder / name)
        except FileNotFoundError:
            return None
        except files.UnreadableRunError as error:
            raise RequestError(str(error)) from error


def open_run(folder: Path) -> StoredRun:
    """The run in a folder. Raises RequestError where there is none."""
    try:
        return StoredRun(folder, files.read_summary(folder))
    except files.UnreadableRunError as error:
        raise RequestError(str(error)) from error
