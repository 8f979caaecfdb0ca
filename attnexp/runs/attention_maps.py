"""Stored attention as maps that can be shown: sorted or in reading order, padding left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from attnexp.errors import RequestError, choices_text, shortened
from attnexp.runs.settings import clean

FIRST = ("pooling", "cross")
"""The attentions that a picture shows where it shows one: from queries to what they ask."""

NEEDED = frozenset({"queries", "keys", "targets", "mask", "target_mask"})
"""The fields of a batch without which a map cannot be labelled."""

FEW = 0.002
"""The share of weights that may be above the end of a scale."""

MOST_MAPS = 1024
"""The most layers times heads of an attention that are shown."""

LONGEST_SYMBOL = 40
"""Letters of a symbol that are shown."""

SPACE = "\N{OPEN BOX}"

Side = Literal["target", "source", "input", "source and input"]
"""What stands along a side of a map of sequences: targets, sources, or targets shifted right."""

SIDES: Mapping[str, tuple[Side, Side]] = {
    "encoder": ("source", "source"),
    "decoder": ("input", "input"),
    "self": ("source and input", "source and input"),
}
"""Rows and columns of self-attention, by its name; any other attention is target by source."""


@dataclass(frozen=True)
class Axis:
    """A side of a map: numbers in ascending order, or symbols. `order` sorts the stored axis."""

    name: str
    order: NDArray[np.int64]
    numbers: NDArray[np.float64] | None = None
    symbols: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.order)


@dataclass(frozen=True)
class Map:
    """Attention weights (queries, keys) of one example, padding left out.

    `gold` holds the column that each row should look at, -1 where there is none.
    """

    weights: NDArray[np.float64]
    rows: Axis
    columns: Axis
    gold: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class View:
    """A choice among the stored maps, counted from 0.

    Where nothing is said: the main attention, its last layer, the mean over its heads, and the
    first examples.
    """

    attention: str | None = None
    layer: int | None = None
    head: int | None = None
    examples: tuple[int, ...] = ()


@dataclass(frozen=True)
class Attention:
    """The content of attention.safetensors: weights by name, and the batch.

    Weights are (batch, layers, heads, queries, keys).

    The symbols of sequence data are in the metadata, as `source_vocab` and `target_vocab`. Those of
    a table name its columns, as `x` and `y`: `x_names` has a name for each number of a key, and
    both are empty where the numbers have no names.
    """

    weights: Mapping[str, NDArray[Any]]
    batch: Mapping[str, NDArray[Any]]
    source_vocab: tuple[str, ...] = ()
    target_vocab: tuple[str, ...] = ()
    x_names: tuple[str, ...] = ()
    y_name: str = ""

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return the weights of one attention, (batch, layers, heads, queries, keys)."""
        return self.weights[name]

    @property
    def main(self) -> str:
        """Return the name of the attention to show first."""
        return next((name for name in FIRST if name in self.weights), next(iter(self.weights)))

    def resolve(self, view: View, most: int) -> View:
        """Return the view with its defaults filled in, and `most` examples where it names none.

        A head of None stays where there are several: it means their mean.

        Raises RequestError for what is not stored, with what is.
        """
        name = view.attention or self.main
        if name not in self.weights:
            raise RequestError(
                f"there is no attention '{name}': the run kept {choices_text(self.weights)}"
            )
        batch, layers, heads = self.weights[name].shape[:3]
        examples = view.examples or tuple(range(min(most, batch)))
        layer = layers - 1 if view.layer is None else view.layer
        _check("example", examples, batch)
        _check("layer", [layer], layers)
        _check("head", [] if view.head is None else [view.head], heads)
        head = 0 if heads == 1 else view.head
        return replace(view, attention=name, layer=layer, head=head, examples=examples)

    def words(self, view: View) -> str:
        """Return a resolved view in words, without its examples."""
        name = view.attention or self.main
        _, layers, heads = self.weights[name].shape[:3]
        parts = [f"{name} attention"]
        if layers > 1 and view.layer is not None:
            parts.append(f"layer {view.layer + 1}")
        if heads > 1:
            parts.append(f"mean of {heads} heads" if view.head is None else f"head {view.head + 1}")
        return ", ".join(parts)

    def map(self, name: str, example: int, layer: int, head: int | None) -> Map:
        """Return one map: sorted where the axes are numbers, in reading order for symbols.

        Without a head, the mean over the heads. Only the main attention has a gold path.

        Raises RequestError where weights and examples do not belong together.
        """
        try:
            return self._map(name, example, layer, head)
        except IndexError:
            raise RequestError(
                f"the stored {name} attention does not fit the examples stored with it"
            ) from None

    def _map(self, name: str, example: int, layer: int, head: int | None) -> Map:
        heads = self.weights[name][example, layer].astype(np.float64)
        weights = heads.mean(axis=0) if head is None else heads[head]
        rows, columns = self._sides(name, example)
        gold = self.batch.get("alignment") if name == self.main else None
        return Map(
            weights[np.ix_(rows.order, columns.order)],
            rows,
            columns,
            None if gold is None else gold[example][rows.order].astype(np.int64),
        )

    def _sides(self, name: str, example: int) -> tuple[Axis, Axis]:
        if not self.source_vocab:
            queries, keys = (self.batch[side][example] for side in ("queries", "keys"))
            sorted_by = next(iter(self.x_names), "x")
            return _numbers(f"test {sorted_by}", queries), _numbers(f"training {sorted_by}", keys)
        rows, columns = SIDES.get(name, ("target", "source"))
        return self._symbols(example, rows), self._symbols(example, columns)

    def _symbols(self, example: int, side: Side) -> Axis:
        if side == "source and input":
            source, given = self._symbols(example, "source"), self._symbols(example, "input")
            behind = self.batch["keys"].shape[1] + given.order
            order = np.concatenate([source.order, behind])
            return Axis(side, order, symbols=(*source.symbols, *given.symbols))
        field = {"target": "targets", "source": "keys", "input": "queries"}[side]
        ids = self.batch[field][example]
        vocab = self.source_vocab if side == "source" else self.target_vocab
        if side == "source":
            seen = self.batch["mask"][example].any(axis=0)
        else:
            seen = self.batch["target_mask"][example]
        if side == "input" and "asked" in self.batch:
            last = self.batch["asked"][example][seen].max(initial=0)
            seen = np.arange(len(ids)) <= last
        order = np.flatnonzero(seen)
        return Axis(side, order, symbols=tuple(visible(vocab[i]) for i in ids[order]))


def visible(symbol: str) -> str:
    """Return a symbol that can be seen: a blank becomes an open box, a long one is cut."""
    return SPACE if symbol.isspace() else clean(shortened(symbol, LONGEST_SYMBOL))


def as_attention(arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]) -> Attention:
    """Return stored arrays as weights and batch.

    Raises RequestError for arrays that are not those of a run: missing ones, and shapes, types,
    ids and symbols that do not belong together.
    """
    prefix = "weights."
    weights = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
    batch = {k: v for k, v in arrays.items() if not k.startswith(prefix)}
    missing = sorted(NEEDED - set(batch))
    if missing or not weights:
        raise RequestError(f"the stored attention has no {' and no '.join(missing or ['weights'])}")
    x_names, y_names = (_names_of(metadata, side) for side in ("x", "y"))
    attention = Attention(
        weights,
        batch,
        _symbols_of(metadata, "source_vocab"),
        _symbols_of(metadata, "target_vocab"),
        x_names,
        "".join(y_names[:1]),
    )
    _check_batch(attention)
    if x_names and (attention.source_vocab or len(x_names) != batch["keys"].shape[-1]):
        raise RequestError("the stored names of x do not fit the stored keys")
    for name in weights:
        _check_weights(attention, name)
    return attention


def as_snapshots(
    arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]
) -> dict[int, Attention]:
    """Return stored arrays, whose weights have an axis of epochs in front, by epoch.

    Raises RequestError as `as_attention`, and for epochs that are not those of the weights.
    """
    prefix = "weights."
    several = {k: v for k, v in arrays.items() if k.startswith(prefix)}
    batch = {k: v for k, v in arrays.items() if not k.startswith(prefix) and k != "epochs"}
    epochs = arrays.get("epochs", np.zeros(0, int))
    if epochs.ndim != 1 or epochs.dtype.kind not in "iu" or len(set(epochs.tolist())) < len(epochs):
        raise RequestError("the stored epochs are not whole numbers, each once")
    if not all(weights.ndim == 6 and len(weights) == len(epochs) for weights in several.values()):
        raise RequestError("the stored attention does not have the stored epochs")
    return {
        epoch: as_attention(batch | {name: w[i] for name, w in several.items()}, metadata)
        for i, epoch in enumerate(epochs.tolist())
    }


def _symbols_of(metadata: Mapping[str, Any], side: str) -> tuple[str, ...]:
    symbols = metadata.get(side) or ()
    if not (isinstance(symbols, list | tuple) and all(isinstance(each, str) for each in symbols)):
        raise RequestError(f"the stored {side} is no list of symbols")
    return tuple(symbols)


def _names_of(metadata: Mapping[str, Any], side: str) -> tuple[str, ...]:
    """Return the names of the columns on one side of a table, none where there is no table."""
    columns = metadata.get(side) or ()
    if not isinstance(columns, list | tuple):
        raise RequestError(f"the stored columns of {side} are no list")
    names = [each.get("name") if isinstance(each, Mapping) else None for each in columns]
    if not all(isinstance(name, str) for name in names):
        raise RequestError(f"the stored columns of {side} have no names")
    return tuple(clean(shortened(str(name), LONGEST_SYMBOL)) for name in names)


def _check_batch(attention: Attention) -> None:
    """Raise RequestError unless the fields of the batch belong together."""
    batch, ids = attention.batch, bool(attention.source_vocab)
    dims = (
        {"queries": 2, "keys": 2, "targets": 2} if ids else {"queries": 3, "keys": 3, "targets": 3}
    )
    dims |= {"mask": 3, "target_mask": 2, "alignment": 2, "asked": 2}
    for name, dim in dims.items():
        if name in batch and (batch[name].ndim != dim or not batch[name].size):
            raise RequestError(f"the stored {name} have the shape {batch[name].shape}")
    (count, queries), keys, targets = (
        batch["queries"].shape[:2],
        batch["keys"].shape[1],
        batch["targets"].shape[1],
    )
    shapes = {
        "keys": (count, keys),
        "values": (count, keys),
        "targets": (count, targets),
        "target_mask": (count, targets),
        "alignment": (count, targets),
        "asked": (count, targets),
    }
    for name, shape in shapes.items():
        if name in batch and batch[name].shape[:2] != shape:
            raise RequestError(f"the stored {name} do not fit the stored queries and keys")
    mask = batch["mask"]
    if (
        mask.shape[0] != count
        or mask.shape[1] not in (1, queries, targets)
        or mask.shape[2] != keys
    ):
        raise RequestError("the stored mask does not fit the stored queries and keys")
    if mask.dtype.kind != "b" or batch["target_mask"].dtype.kind != "b":
        raise RequestError("the stored masks are not true or false")
    whole = {"alignment": keys, "asked": queries}
    if ids:
        source, target = len(attention.source_vocab), len(attention.target_vocab)
        whole |= {"queries": target, "keys": source, "targets": target}
    elif not all(_is_finite(batch[name]) for name in ("queries", "keys")):
        raise RequestError("the stored queries and keys are not finite numbers")
    elif "values" in batch and batch["values"].ndim != 3:
        raise RequestError(f"the stored values have the shape {batch['values'].shape}")
    for name, end in whole.items():
        if name in batch and not _is_within(batch[name], end):
            raise RequestError(f"the stored {name} are not within what they stand for")


def _check_weights(attention: Attention, name: str) -> None:
    """Raise RequestError unless the weights of an attention fit the examples."""
    weights, batch = attention.weights[name], attention.batch
    sizes = {
        "target": batch["targets"].shape[1],
        "source": batch["keys"].shape[1],
        "input": batch["queries"].shape[1],
    }
    sizes["source and input"] = sizes["source"] + sizes["input"]
    sides = SIDES.get(name, ("target", "source")) if attention.source_vocab else ("input", "source")
    wanted = tuple(sizes[side] for side in sides)
    fits = weights.ndim == 5 and weights.dtype.kind == "f" and weights.shape[3:] == wanted
    if not (fits and weights.shape[0] == len(batch["queries"]) and weights.size):
        raise RequestError(
            f"the stored {clean(name):.60} attention does not fit the examples stored with it: it "
            f"is {weights.dtype} {weights.shape}"
        )
    if weights.shape[1] * weights.shape[2] > MOST_MAPS:
        raise RequestError(
            f"the stored {clean(name):.60} attention has more than {MOST_MAPS} heads"
        )


def _is_finite(numbers: NDArray[Any]) -> bool:
    return numbers.dtype.kind == "f" and bool(np.isfinite(numbers).all())


def _is_within(ids: NDArray[Any], end: int) -> bool:
    """Return whether ids are whole numbers below an end, -1 included."""
    return ids.dtype.kind in "iu" and bool((ids >= -1).all() and (ids < end).all())


def scale_end(weights: NDArray[np.float64]) -> tuple[float, bool]:
    """Return where a scale from 0 ends, and whether a few far larger weights are beyond it."""
    weights = weights[np.isfinite(weights)]
    largest = float(weights.max(initial=0))
    most = float(np.quantile(weights, 1 - FEW)) if weights.size else 0.0
    beyond = 0 < most < largest / 2
    return (most if beyond else largest) or 1.0, beyond


def same_examples(one: Attention, other: Attention) -> bool:
    """Return whether two runs stored the attention on the same examples."""
    fields = ("keys", "queries", "targets")
    return all(np.array_equal(one.batch[field], other.batch[field]) for field in fields)


def _numbers(name: str, points: NDArray[Any]) -> Axis:
    """Return points sorted by their first coordinate."""
    x = points.reshape(len(points), -1)[:, 0].astype(np.float64)
    order = np.argsort(x, kind="stable")
    return Axis(name, order, numbers=x[order])


def _check(what: str, chosen: Sequence[int], count: int) -> None:
    """Raise RequestError for a number that is not there; people count from 1."""
    for number in chosen:
        if not 0 <= number < count:
            there = f"only {what} 1" if count == 1 else f"{what}s 1 to {count}"
            raise RequestError(f"there is no {what} {number + 1}: the run kept {there}")
