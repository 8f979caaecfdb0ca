"""The frozen vocabulary that data, architectures, tasks and training share.

A `Batch` has the same fields for both kinds of data:

| field         | regression                      | sequence to sequence               |
|---------------|---------------------------------|------------------------------------|
| `queries`     | x* (batch, queries, x_dim)      | target ids shifted right (batch, queries) |
| `keys`        | x_i (batch, keys, x_dim)        | source ids (batch, keys)           |
| `values`      | y_i (batch, keys, 1)            | the same ids                       |
| `targets`     | y* (batch, queries, 1)          | target ids (batch, queries)        |
| `mask`        | structured: hides a point from itself | hides source padding               |
| `target_mask` | all true                        | hides target padding               |
| `alignment`   | none                            | gold source position, or -1        |
| `asked`       | none                            | none: a target for every query     |

Sequence data may give the decoder's input instead of feeding answers back. `queries` are then that
input, and `asked` (batch, targets) says at which of them each target is due.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, cast

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from attnexp.core.masks import Mask, Queries, StructuredMask, mask_matrix, select_queries
from attnexp.core.writing import SEPARATED, Writing


@dataclass(frozen=True)
class Batch:
    """Examples that go through a model together.

    `mask` is true where a query may attend to a key; its middle axis is 1 where all queries of an
    example share one mask. `target_mask` is true where a target counts. `alignment` holds the key
    position that each target was made from, -1 where there is none. `asked` holds the place among
    the queries at which each target is due, any if the target does not count; without it there
    is a target for every query.
    """

    queries: Shaped[Tensor, "batch queries *query_features"]
    keys: Shaped[Tensor, "batch keys *key_features"]
    values: Shaped[Tensor, "batch keys *value_features"]
    targets: Shaped[Tensor, "batch targets *value_features"]
    mask: Bool[Tensor, "batch #queries keys"]
    target_mask: Bool[Tensor, "batch targets"]
    alignment: Int[Tensor, "batch targets"] | None = None
    asked: Int[Tensor, "batch targets"] | None = None

    def __len__(self) -> int:
        return self.queries.shape[0]

    def to(self, device: torch.device, dtype: torch.dtype | None = None) -> "Batch":
        """The same batch with every tensor on `device`, and numbers, but no ids, as `dtype`."""
        moved = {
            name: value.to(device, dtype)
            if isinstance(value, Tensor) and value.is_floating_point()
            else value.to(device)
            for name, value in self._fields().items()
        }
        return replace(self, **moved)

    def select(self, index: Int[Tensor, " chosen"] | slice) -> "Batch":
        """The examples at `index`, along the batch axis."""
        return replace(self, **{name: tensor[index] for name, tensor in self.tensors().items()})

    def select_queries(self, index: Queries) -> "Batch":
        """The queries at `index` with their targets, before the same keys and values."""
        return replace(
            self,
            queries=self.queries[:, index],
            targets=self.targets[:, index],
            target_mask=self.target_mask[:, index],
            mask=cast(Tensor, select_queries(self.mask, index)),
        )

    def split_queries(self, pairs: int) -> Iterator["Batch"]:
        """Yield the queries in order, in portions of at most `pairs` pairs of query and key.

        A portion has one query at least. Where all fit in one portion it is the batch itself.
        """
        count, size = self.queries.shape[1], max(1, pairs // self.keys[..., 0].numel())
        for first in range(0, count, size):
            yield self if size >= count else self.select_queries(slice(first, first + size))

    def due(
        self, rows: Float[Tensor, "batch *middle queries features"]
    ) -> Float[Tensor, "batch *middle targets features"]:
        """Return the rows of the queries at which targets are due: all rows without `asked`."""
        if self.asked is None:
            return rows
        places = self.asked.view(len(self), *[1] * (rows.dim() - 3), -1, 1)
        return rows.gather(-2, places.expand(*rows.shape[:-2], -1, rows.shape[-1]))

    def tensors(self) -> dict[str, Tensor]:
        """The fields that hold something, by name; a structured mask is made a matrix."""
        return {
            name: value.matrix if isinstance(value, StructuredMask) else value
            for name, value in self._fields().items()
        }

    def parts(self) -> dict[str, Tensor]:
        """Return the tensors that the batch is made of, by name: of a structured mask its own."""
        found: dict[str, Tensor] = {}
        for name, value in self._fields().items():
            if isinstance(value, StructuredMask):
                found |= {f"{name}.{own}": part for own, part in value.tensors().items()}
            else:
                found[name] = value
        return found

    def with_parts(self, parts: Mapping[str, Tensor]) -> "Batch":
        """Return a batch of the same structure that is made of these tensors."""
        own = {name: value for name, value in parts.items() if "." not in name}
        if isinstance(self.mask, StructuredMask):
            its = {name.partition(".")[2]: value for name, value in parts.items() if "." in name}
            return replace(self, **own, mask=self.mask.with_tensors(its))
        return replace(self, **own)

    def _fields(self) -> dict[str, Any]:
        """Return the fields that hold something, as they are."""
        pairs = ((field.name, getattr(self, field.name)) for field in fields(self))
        return {name: value for name, value in pairs if value is not None}


@dataclass(frozen=True)
class Points(Batch):
    """Examples that share their keys and values: each query is an example, with its target.

    The batch axis is 1. The mask may be structured, or None if every query may attend to every
    key.
    """

    mask: Mask | None  # type: ignore[assignment]  # a sequence's mask is always a matrix

    @classmethod
    def of_rows(
        cls,
        queries: Float[Tensor, "queries x_dim"],
        targets: Float[Tensor, "queries y_dim"],
        keys: Float[Tensor, "keys x_dim"],
        values: Float[Tensor, "keys y_dim"],
        mask: Mask | None,
    ) -> "Points":
        """Return queries with their targets, keys with their values, all of which count."""
        queries, targets, keys, values = (each[None] for each in (queries, targets, keys, values))
        return cls(queries, keys, values, targets, mask, torch.ones_like(targets[..., 0]).bool())

    def __len__(self) -> int:
        return self.queries.shape[1]

    def select(self, index: Queries) -> Batch:
        return self.select_queries(index)


def allowed_keys(batch: Batch) -> Bool[Tensor, "batch queries keys"]:
    """Return the mask of a batch as a matrix with a row for each query."""
    shape = (batch.queries.shape[0], batch.queries.shape[1], batch.keys.shape[1])
    mask = mask_matrix(batch.mask)
    whole = torch.ones(1, 1, 1, dtype=torch.bool, device=batch.keys.device)
    return (whole if mask is None else mask).expand(shape)


@dataclass(frozen=True)
class Prediction:
    """The answers of a model to a batch.

    `outputs` are predicted values (regression) or logits over the target vocabulary. `weights` maps
    the name of an attention (`pooling`, `cross`, `self`, ...) to its weights, and is empty when the
    caller did not ask for weights. There is a row of outputs, and of `pooling` and `cross`, for
    each target.
    """

    outputs: Float[Tensor, "batch targets outputs"]
    weights: Mapping[str, Float[Tensor, "batch layers heads _ _"]]


DIGITS = 6
"""The digits after the point that are kept of a number in standard deviations."""


@dataclass(frozen=True)
class DataColumn:
    """A column of a table whose numbers were standardised: z = (number - mean) / deviation.

    `mean` and `deviation` are those of the training rows, `low`, `median` and `high` those of all.
    """

    name: str
    mean: float
    deviation: float
    low: float
    median: float
    high: float

    def rounded(self, number: float) -> float:
        """Return a number of the column without the digits that 32-bit floats made up."""
        return round(number, DIGITS - math.floor(math.log10(self.deviation)))


@dataclass(frozen=True)
class RegressionSpec:
    """The specification of regression data: the dimensions of x and of y.

    `x` and `y` describe the columns of a table, and are empty if numbers were not standardised.
    """

    x_dim: int
    y_dim: int
    x: tuple[DataColumn, ...] = ()
    y: tuple[DataColumn, ...] = ()


def in_units(
    numbers: Float[Tensor, "*batch dim"], columns: Sequence[DataColumn]
) -> Float[Tensor, "*batch dim"]:
    """Return standardised numbers in the units of their columns, on the CPU as 64-bit floats.

    Without columns, the numbers as they are.
    """
    if not columns:
        return numbers
    means, deviations = _moments(columns)
    return numbers.cpu().double() * deviations + means


def standardised(
    numbers: Float[Tensor, "*batch dim"], columns: Sequence[DataColumn]
) -> Float[Tensor, "*batch dim"]:
    """Return (number - mean) / deviation of numbers in the units of their columns."""
    means, deviations = _moments(columns)
    return (numbers - means) / deviations


def _moments(columns: Sequence[DataColumn]) -> Float[Tensor, "2 dim"]:
    """Return the means and the deviations of columns."""
    pairs = [(column.mean, column.deviation) for column in columns]
    return torch.tensor(pairs, dtype=torch.float64).T


@dataclass(frozen=True)
class Seq2SeqSpec:
    """The specification of sequence data: the symbols, the longest lengths, the special ids.

    `max_source` and `max_target` are the longest source and the longest input of a decoder in
    training, the symbols that mark an end or a beginning included; padding may follow.
    `test_max_source` and `test_max_target` are those of the test set, 0 where they are not known
    to differ. The writings say how symbols make a text. `unknown` is the id that stands for symbols
    that are not in the vocabulary, None if there is no such id.
    """

    source_vocab: tuple[str, ...]
    target_vocab: tuple[str, ...]
    max_source: int
    max_target: int
    pad: int
    bos: int
    eos: int
    test_max_source: int = 0
    test_max_target: int = 0
    source_writing: Writing = SEPARATED
    target_writing: Writing = SEPARATED
    unknown: int | None = None


DataSpec = RegressionSpec | Seq2SeqSpec
