"""Stored attention as maps that can be shown: sorted or in reading order, padding left out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from attnexp.core.errors import RequestError, choices_text, none_of, shortened_value
from attnexp.core.language import Phrase, Text, joined, numbered, said
from attnexp.runs.settings import clean

FIRST = ("pooling", "cross")
"""The attentions that a picture shows if it shows one: from queries to the keys they ask."""

KINDS = {
    "cross": said("cross attention"),
    "decoder": said("decoder attention"),
    "encoder": said("encoder attention"),
    "pooling": said("pooling attention"),
    "self": said("self attention"),
}
"""The attentions of our architectures, in words."""

NEEDED = frozenset({"queries", "keys", "targets", "mask", "target_mask"})
"""The fields of a batch without which a map cannot be labelled."""

WEIGHTS = "weights."

FEW = 0.002
"""The largest share of weights that a scale may leave above its end."""

EVEN = 4
"""The end of a scale is at least this many times an even weight, 1 / keys."""

UNEVEN = 4
"""A map is dark if the end of its scale is more than this many times its largest weight."""

LONGEST_SYMBOL = 40
"""Characters of a symbol that are shown."""

SPACE = "\N{OPEN BOX}"


def kind_text(name: str) -> Text:
    """Return an attention in words, such as `cross attention`."""
    return KINDS.get(name) or said("{name} attention", name=name)


Side = Literal["target", "source", "input", "source and input"]
"""What lies along a side of a map; `source and input` is the source and the inputs behind it."""

NAMES: Mapping[Side, Text] = {
    "target": said("target"),
    "source": said("source"),
    "input": said("input"),
    "source and input": said("source and input"),
}
"""The names of sides in pictures."""

SIDES: Mapping[str, tuple[Side, Side]] = {
    "encoder": ("source", "source"),
    "decoder": ("input", "input"),
    "self": ("source and input", "source and input"),
}
"""Rows and columns of self-attention, by its name; any other attention is target by source."""

CAUSAL = ("decoder", "self")
"""The attentions in which a row must not look at later places."""


@dataclass(frozen=True)
class MapAxis:
    """A side of a map: numbers in ascending order, or symbols in reading order.

    `order` holds the stored places in the order in which the map shows them; padding is left out.
    `decoded` holds, for each symbol, the symbol that the model decoded in that place, if it is
    known. `parts` are the places at which another part begins, such as the input behind the source.
    """

    name: Phrase
    order: NDArray[np.int64]
    numbers: NDArray[np.float64] | None = None
    symbols: tuple[str, ...] = ()
    decoded: tuple[str, ...] = ()
    parts: tuple[int, ...] = ()

    @property
    def wrong(self) -> NDArray[np.int64]:
        """The places whose decoded symbol is another one than the true symbol."""
        both = zip(self.symbols, self.decoded, strict=False)
        return np.flatnonzero([symbol != decoded for symbol, decoded in both])

    def __len__(self) -> int:
        return len(self.order)


@dataclass(frozen=True)
class Map:
    """Attention weights (queries, keys) of one example, padding left out.

    `gold` holds the column that each row should look at, -1 if there is none. `hidden` is true at
    the cells that a mask hides.
    """

    weights: NDArray[np.float64]
    rows: MapAxis
    columns: MapAxis
    gold: NDArray[np.int64] | None = None
    hidden: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class View:
    """A choice among the stored maps, counted from 0.

    By default: the main attention, its last layer, the mean over its heads, and the first examples.
    """

    attention: str | None = None
    layer: int | None = None
    head: int | None = None
    examples: tuple[int, ...] = ()


@dataclass(frozen=True)
class StoredAttention:
    """The content of attention.safetensors: weights by name, and the batch.

    Weights are (batch, layers, heads, queries, keys).

    The symbols of sequence data are in the metadata, as `source_vocab` and `target_vocab`. Those of
    a table name its columns, as `x` and `y`: `x_names` has a name for each number of a key, and
    both are empty if the numbers have no names.
    """

    weights: Mapping[str, NDArray[Any]]
    batch: Mapping[str, NDArray[Any]]
    source_vocab: tuple[str, ...] = ()
    target_vocab: tuple[str, ...] = ()
    x_names: tuple[str, ...] = ()
    y_name: str = ""

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return the weights of one attention, (batch, layers, heads, queries, keys).

        Raises RequestError for an attention that was not stored.
        """
        if name not in self.weights:
            raise RequestError(f"attention {none_of(name, list(self.weights))}")
        return self.weights[name]

    def __contains__(self, name: object) -> bool:
        return name in self.weights

    def __iter__(self) -> Iterator[str]:
        """Return the names of the attentions that were stored."""
        return iter(self.weights)

    @property
    def main(self) -> str:
        """Return the name of the attention to show first."""
        return next((name for name in FIRST if name in self.weights), next(iter(self.weights)))

    def resolve(self, view: View, most: int) -> View:
        """Return the view with its defaults filled in: the first `most` examples if it names none.

        A head of None stays None if there are several heads: it means their mean.

        Raises RequestError, with the choices, for an attention, a layer, a head or an example that
        was not stored.
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

    def words(self, view: View) -> Text:
        """Return a resolved view in words, without its examples."""
        name = view.attention or self.main
        _, layers, heads = self.weights[name].shape[:3]
        parts = [kind_text(name)]
        if layers > 1 and view.layer is not None:
            parts.append(numbered(said("layer"), view.layer + 1))
        if heads > 1:
            mean = said("mean of {count} heads", count=heads)
            parts.append(mean if view.head is None else numbered(said("head"), view.head + 1))
        return joined(said(", "), parts)

    def map(self, name: str, example: int, layer: int, head: int | None) -> Map:
        """Return one map: sorted if the axes are numbers, in reading order for symbols.

        A head of None means the mean over the heads. Only the main attention has a gold path.

        Raises RequestError if weights and examples do not belong together.
        """
        gold = self.batch.get("alignment") if name == self.main else None
        try:
            heads = self.weights[name][example, layer].astype(np.float64)
            weights = heads.mean(axis=0) if head is None else heads[head]
            rows, columns = self._sides(name, example)
            if not self.source_vocab and weights.shape != (len(rows), len(columns)):
                raise ValueError
            if gold is not None and not np.isfinite(gold[example]).all():
                raise ValueError
            return Map(
                weights[np.ix_(rows.order, columns.order)],
                rows,
                columns,
                None if gold is None else gold[example][rows.order].astype(np.int64),
                self._hidden(name, example, weights)[np.ix_(rows.order, columns.order)],
            )
        except (IndexError, ValueError, TypeError):
            raise RequestError(
                f"the stored {name} attention does not fit the examples stored with it"
            ) from None

    def _hidden(self, name: str, example: int, weights: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return the cells, padding included, that a mask hides. Hidden cells have no weight.

        The mask of the batch is stored, a causal mask is not. An attention in CAUSAL counts as
        masked if no layer and no head of the example gives weight to a later place.
        """
        if name in CAUSAL:
            later = ~np.tri(*weights.shape, dtype=np.bool_)
            return later & ~np.any(self.weights[name][example][..., later])
        if name in SIDES:
            return np.zeros(weights.shape, np.bool_)
        return ~np.broadcast_to(self.batch["mask"][example], weights.shape) & (weights == 0)

    def _sides(self, name: str, example: int) -> tuple[MapAxis, MapAxis]:
        if not self.source_vocab:
            queries, keys = (self.batch[side][example] for side in ("queries", "keys"))
            sorted_by = next(iter(self.x_names), "x")
            return (
                _numbers(said("test {x}", x=sorted_by), queries),
                _numbers(said("training {x}", x=sorted_by), keys),
            )
        rows, columns = SIDES.get(name, ("target", "source"))
        return self._symbols(example, rows), self._symbols(example, columns)

    def _symbols(self, example: int, side: Side) -> MapAxis:
        if side == "source and input":
            source, given = self._symbols(example, "source"), self._symbols(example, "input")
            behind = self.batch["keys"].shape[1] + given.order
            order = np.concatenate([source.order, behind])
            symbols = (*source.symbols, *given.symbols)
            return MapAxis(NAMES[side], order, symbols=symbols, parts=(len(source),))
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
        return MapAxis(NAMES[side], order, symbols=tuple(visible(vocab[i]) for i in ids[order]))


def visible(symbol: str) -> str:
    """Return a symbol as it is displayed: a space as an open box, a long one shortened."""
    return SPACE if symbol.isspace() else _shown(symbol)


def _shown(text: str) -> str:
    return clean(shortened_value(text, LONGEST_SYMBOL))


def as_attention(
    arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]
) -> StoredAttention:
    """Return stored arrays as weights and batch.

    Raises RequestError if fields are missing or do not fit each other.
    """
    weights = {k.removeprefix(WEIGHTS): v for k, v in arrays.items() if k.startswith(WEIGHTS)}
    batch = {k: v for k, v in arrays.items() if not k.startswith(WEIGHTS)}
    missing = sorted(NEEDED - set(batch)) or ([] if weights else ["weights"])
    if missing:
        raise RequestError(f"the stored attention has no {' and no '.join(missing)}")
    try:
        attention = StoredAttention(
            weights,
            batch,
            tuple(metadata.get("source_vocab") or ()),
            tuple(metadata.get("target_vocab") or ()),
            tuple(_shown(column["name"]) for column in metadata.get("x") or ()),
            "".join(_shown(column["name"]) for column in (metadata.get("y") or ())[:1]),
        )
        count = len(attention.batch["queries"])
    except (TypeError, KeyError, IndexError, AttributeError) as error:
        raise RequestError(f"the stored attention is not that of a run: {error!r}") from error
    for name, found in weights.items():
        if found.ndim != 5 or len(found) != count or not found.size:
            raise RequestError(f"the stored {clean(name):.60} weights do not fit the examples")
    return attention


def as_snapshots(
    arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]
) -> dict[int, StoredAttention]:
    """Return stored arrays, whose weights have an axis of epochs in front, by epoch.

    Raises RequestError as `as_attention`, and for epochs that are not those of the weights.
    """
    several = {k: v for k, v in arrays.items() if k.startswith(WEIGHTS)}
    batch = {k: v for k, v in arrays.items() if k not in several and k != "epochs"}
    epochs = arrays.get("epochs", np.zeros(0, int)).reshape(-1).tolist()
    if any(len(weights) != len(epochs) for weights in several.values()):
        raise RequestError("the stored attention does not have the stored epochs")
    return {
        int(epoch): as_attention(batch | {name: w[i] for name, w in several.items()}, metadata)
        for i, epoch in enumerate(epochs)
    }


def scale_end(weights: NDArray[np.float64], keys: int) -> tuple[float, bool]:
    """Return where a scale from 0 ends, and whether a few far larger weights are beyond the end.

    The end is the largest absolute weight, or the quantile 1 - FEW if that is less than half of it.
    The end is at least EVEN / keys, so that even weights of 1 / keys are never the brightest. A
    scale of weights with signs, see `has_signs`, begins as far below 0 as it ends above.
    """
    weights = np.abs(weights[np.isfinite(weights)])
    largest = float(weights.max(initial=0))
    most = float(np.quantile(weights, 1 - FEW)) if weights.size else 0.0
    beyond = 0 < most < largest / 2
    end = (most if beyond else largest) or 1.0
    least = min(1.0, EVEN / max(keys, 1))
    return max(end, least), beyond and end >= least


def has_signs(weights: NDArray[np.float64]) -> bool:
    """Return whether a weight is negative, so that a scale has 0 in its middle."""
    return bool(np.nanmin(weights, initial=0.0) < 0)


def is_uneven(largest: Sequence[float], end: float) -> bool:
    """Return whether one of several maps would be dark on a scale up to `end`.

    `largest` holds the largest weight of each map. A map is dark if UNEVEN times its largest weight
    is below the end.
    """
    return end > UNEVEN * min(largest)


def same_examples(one: StoredAttention, other: StoredAttention) -> bool:
    """Return whether two runs stored the attention on the same examples."""
    fields = ("keys", "queries", "targets")
    return all(np.array_equal(one.batch[field], other.batch[field]) for field in fields)


def _numbers(name: Phrase, points: NDArray[Any]) -> MapAxis:
    """Return an axis of points, sorted by their first coordinate."""
    x = points.reshape(len(points), -1)[:, 0].astype(np.float64)
    order = np.argsort(x, kind="stable")
    return MapAxis(name, order, numbers=x[order])


def _check(what: str, chosen: Sequence[int], count: int) -> None:
    """Raise RequestError for a chosen number outside 0 to count - 1; the message counts from 1."""
    for number in chosen:
        if not 0 <= number < count:
            there = f"only {what} 1" if count == 1 else f"{what}s 1 to {count}"
            raise RequestError(f"there is no {what} {number + 1}: the run kept {there}")
