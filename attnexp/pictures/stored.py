"""A run as it lies on disk, for whoever draws it. NumPy only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attnexp import record
from attnexp.errors import RequestError, choices_text

FIRST = ("pooling", "cross")
"""The attentions that a picture shows where it shows one: from queries to what they ask."""


@dataclass(frozen=True)
class Axis:
    """One side of a map: numbers in ascending order, or symbols. `order` sorts the stored axis."""

    name: str
    order: NDArray[np.int64]
    numbers: NDArray[np.float64] | None = None
    symbols: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.order)


@dataclass(frozen=True)
class Map:
    """Attention weights (queries, keys) of one example in one layer and head, padding left out.

    `gold` holds the column that each row should look at, -1 where there is none.
    """

    weights: NDArray[np.float64]
    rows: Axis
    columns: Axis
    gold: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Attention:
    """attention.safetensors: weights (batch, layers, heads, queries, keys) by name, and the batch.

    The symbols of sequence data are in the metadata, as `source_vocab` and `target_vocab`.
    """

    weights: Mapping[str, NDArray[Any]]
    batch: Mapping[str, NDArray[Any]]
    source_vocab: tuple[str, ...] = ()
    target_vocab: tuple[str, ...] = ()

    @property
    def main(self) -> str:
        """The name of the attention to show first."""
        return next((name for name in FIRST if name in self.weights), next(iter(self.weights)))

    def map(self, name: str, example: int, layer: int, head: int) -> Map:
        """One map, sorted where the axes are numbers, in reading order where they are symbols.

        A map whose sides are both sources or both targets is self-attention, and has no gold path.
        """
        weights = self.weights[name][example, layer, head].astype(np.float64)
        rows = self._side(example, weights.shape[0], query=True)
        columns = self._side(example, weights.shape[1], query=False)
        shown = weights[np.ix_(rows.order, columns.order)]
        return Map(shown, rows, columns, self._gold(name, example, rows))

    def _side(self, example: int, length: int, query: bool) -> Axis:
        if not self.source_vocab:
            points = self.batch["queries" if query else "keys"][example]
            return _numbers("test x" if query else "training x", points)
        return self._symbols(example, target=query)

    def _symbols(self, example: int, target: bool) -> Axis:
        ids = self.batch["targets" if target else "keys"][example]
        vocab = self.target_vocab if target else self.source_vocab
        mask = self.batch["target_mask" if target else "mask"][example]
        order = np.flatnonzero(mask if target else mask.any(axis=0))
        return Axis(
            "target" if target else "source", order, symbols=tuple(vocab[i] for i in ids[order])
        )

    def _gold(self, name: str, example: int, rows: Axis) -> NDArray[np.int64] | None:
        if "alignment" not in self.batch or name != self.main:
            return None
        return self.batch["alignment"][example][rows.order].astype(np.int64)


@dataclass(frozen=True)
class StoredRun:
    """A run folder and its summary; the other files are read when they are needed."""

    folder: Path
    summary: Mapping[str, Any] = field(repr=False)

    @property
    def name(self) -> str:
        """Model and data, as in `additive on reverse`."""
        choices = self.summary["choices"]
        return f"{choices.get('model', '?')} on {choices.get('data', '?')}"

    @property
    def title(self) -> str:
        """Model, data and seed."""
        return f"{self.name}, seed {self.summary['config'].get('seed')}"

    @property
    def primary(self) -> str:
        """The primary metric and its value, or nothing where it was not measured."""
        name = self.summary["primary"]
        value = self.summary["metrics"].get(name)
        return "" if value is None else f"{name} {value:.3g}"

    @cached_property
    def metrics(self) -> dict[str, NDArray[np.float64]]:
        """metrics.csv by column; empty where nothing was trained."""
        rows = record.read_metrics(self.folder)
        return {key: np.array([row[key] for row in rows]) for key in rows[0]} if rows else {}

    @cached_property
    def predictions(self) -> list[dict[str, str]]:
        """predictions.csv, a dictionary a row."""
        return record.read_rows(self.folder / record.PREDICTIONS)

    @cached_property
    def attention(self) -> Attention:
        """The stored attention. Raises RequestError where the run stored none."""
        try:
            arrays, metadata = record.read_tensors(self.folder / record.ATTENTION)
        except FileNotFoundError:
            raise RequestError(f"{self.folder} holds no {record.ATTENTION}") from None
        return as_attention(arrays, metadata)

    def attention_named(self, name: str | None) -> tuple[Attention, str]:
        """The stored attention, and `name` held against what it holds; None takes the main one."""
        attention = self.attention
        if name is not None and name not in attention.weights:
            raise RequestError(
                f"there is no attention '{name}' in {self.folder}: "
                f"it holds {choices_text(attention.weights)}"
            )
        return attention, name or attention.main


def open_run(folder: Path) -> StoredRun:
    """The run in a folder. Raises RequestError where there is none."""
    try:
        return StoredRun(folder, record.read_summary(folder))
    except record.UnreadableRunError as error:
        raise RequestError(str(error)) from error


def as_attention(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]) -> Attention:
    """Stored arrays, sorted into weights and batch."""
    prefix = "weights."
    return Attention(
        weights={k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)},
        batch={k: v for k, v in arrays.items() if not k.startswith(prefix)},
        source_vocab=tuple(metadata.get("source_vocab", ())),
        target_vocab=tuple(metadata.get("target_vocab", ())),
    )


def _numbers(name: str, points: NDArray[Any]) -> Axis:
    """Points sorted by their first coordinate."""
    x = points.reshape(len(points), -1)[:, 0].astype(np.float64)
    order = np.argsort(x, kind="stable")
    return Axis(name, order, numbers=x[order])
