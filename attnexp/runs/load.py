"""One run read back: its summary, its curves, and its attention as tensors."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from attnexp.errors import RequestError
from attnexp.runs import files

WEIGHTS = "weights."
"""What the names of attention weights begin with on disk."""


@dataclass(frozen=True)
class LoadedRun:
    """A run as it lies on disk.

    - `summary`: the content of summary.json.
    - `history`: metrics.csv, a row an epoch; empty where nothing was trained.
    - `predictions`: predictions.csv.
    - `attention`: the weights of the kept test examples by the name of the attention (`pooling`,
      `encoder.0`, ...), each (batch, layers, heads, queries, keys); empty for a run that did not
      come so far.
    - `examples`: these examples, by the names of the fields of a batch (`queries`, `keys`, ...).
    """

    folder: Path
    summary: Mapping[str, Any] = field(repr=False)
    history: pd.DataFrame = field(repr=False)
    predictions: pd.DataFrame = field(repr=False)
    attention: Mapping[str, Tensor] = field(repr=False)
    examples: Mapping[str, Tensor] = field(repr=False)

    @property
    def config(self) -> Mapping[str, Any]:
        """The resolved configuration, nested."""
        settings: Mapping[str, Any] = self.summary["config"]
        return settings

    @property
    def metrics(self) -> Mapping[str, float | None]:
        """The final metrics; None for one that is no finite number."""
        measured: Mapping[str, float | None] = self.summary["metrics"]
        return measured


def load_run(path: str | Path) -> LoadedRun:
    """Read the run in a folder. Raises RequestError, with the reason, where that cannot be done."""
    folder = Path(path)
    try:
        summary = files.read_summary(folder)
        history = pd.DataFrame(files.read_metrics(folder))
        tensors = _tensors(folder / files.ATTENTION)
    except files.UnreadableRunError as error:
        raise RequestError(str(error)) from error
    return LoadedRun(
        folder=folder,
        summary=summary,
        history=history,
        predictions=_predictions(folder / files.PREDICTIONS),
        attention={
            name.removeprefix(WEIGHTS): tensor
            for name, tensor in tensors.items()
            if name.startswith(WEIGHTS)
        },
        examples={k: tensor for k, tensor in tensors.items() if not k.startswith(WEIGHTS)},
    )


def _tensors(path: Path) -> dict[str, Tensor]:
    try:
        arrays, _ = files.read_tensors(path)
    except FileNotFoundError:
        return {}
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def _predictions(path: Path) -> pd.DataFrame:
    """Numbers as numbers; text, such as `null` among decoded symbols, as it stands."""
    try:
        return pd.read_csv(path, keep_default_na=False)
    except (FileNotFoundError, pd.errors.EmptyDataError):
        return pd.DataFrame()
