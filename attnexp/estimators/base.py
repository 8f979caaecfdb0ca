"""The contract of an estimator."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnexp.core.masks import MaskMatrix
from attnexp.scores.base import batched_product


class Compared(NamedTuple):
    """Holds the queries and keys whose weights an estimator gets.

    `queries` are those of each head, before the score projects them further, `keys` as the score
    compares them, `kept` the numbers that `Estimator.remember` returned, with zeros for padding,
    and `mask` is true for a key that a query may attend to, or None if it may attend to all. For an
    estimator that needs products, `projected` are the queries as the score compares them.
    """

    queries: Float[Tensor, "*batch queries query_dim"]
    keys: Float[Tensor, "*batch keys projected"]
    kept: Float[Tensor, "*batch keys kept"] | None
    mask: MaskMatrix | None
    projected: Float[Tensor, "*batch queries projected"] | None = None


class Estimator(nn.Module, ABC):
    """Maps the weights w of each query to effective weights l: the answer is sum_i l_i v_i.

    Such an answer is a linear smoother. A run keeps the effective weights, metrics measure
    them and interventions replace them. A masked key has none.

    The surrounding attention sets `heads`, `query_dim` and `key_dim`, the features of a query and
    of a key of each head, and `input_dim`, those of the vectors that keys are made of. Tensors have
    an axis for the heads at -3 if there are several, and may lack it if there is one. All other
    arguments of a subclass are hyperparameters and come from its YAML file.
    """

    signed: ClassVar[bool] = False
    """Whether effective weights may be negative."""

    sums_to_one: ClassVar[bool] = False
    """Whether they sum to 1 for every query with weight on a key, whatever the weights sum to."""

    causal: ClassVar[bool] = False
    """Whether it needs queries that are the keys, each of which sees those up to its own."""

    needs_products: ClassVar[bool] = False
    """Whether it gets the products of a score in place of weights, and 0 for masked keys.

    Then the score must be one of `InnerProduct`, and there is no normalizer.
    """

    by_head: ClassVar[bool] = True
    """Whether the effective weights of a query follow from its own weights of the same head."""

    def __init__(self, heads: int, query_dim: int, key_dim: int, input_dim: int) -> None:
        super().__init__()
        self.heads = heads

    def prepare(self, keys: Float[Tensor, "*batch keys projected"]) -> Tensor:
        """Return the projected keys as the score is to compare them; by default as they are."""
        return keys

    def remember(
        self,
        inputs: Float[Tensor, "*batch keys input_dim"],
        keys: Float[Tensor, "*heads keys key_dim"],
    ) -> Float[Tensor, "*heads keys kept"] | None:
        """Return the numbers that are needed of each key, once per sequence; by default none.

        `inputs` are the vectors that the `keys` of each head are made of. Zeros take the place of
        the numbers of padding, and must have no influence: of a gate, return the logarithm.
        """
        return None

    def between(
        self, weights: Float[Tensor, "*batch queries keys"], compared: Compared
    ) -> dict[str, Float[Tensor, "*batch rows columns"]]:
        """Return tensors between weights and effective weights, by name; by default none."""
        return {}

    @abstractmethod
    def forward(
        self, weights: Float[Tensor, "*batch queries keys"], compared: Compared
    ) -> Float[Tensor, "*batch queries keys"]:
        """Return the effective weights."""

    def answer(
        self,
        weights: Float[Tensor, "*batch queries keys"],
        values: Float[Tensor, "*heads keys value_dim"],
        compared: Compared,
    ) -> Float[Tensor, "*heads queries value_dim"]:
        """Return sum_i l_i v_i, of the dtype of the values.

        A subclass may have a faster way than through the effective weights.
        """
        return batched_product(self.effective(weights, compared).to(values.dtype), values)

    def effective(
        self, weights: Float[Tensor, "*batch queries keys"], compared: Compared
    ) -> Float[Tensor, "*heads queries keys"]:
        """Return the effective weights that `forward` makes, checked.

        Raises TypeError unless it is a tensor with as many queries and keys as the weights.
        """
        made: object = self(weights, compared)
        shape = tuple(made.shape) if isinstance(made, Tensor) else type(made).__name__
        if not isinstance(made, Tensor) or made.shape[-2:] != weights.shape[-2:]:
            raise TypeError(
                f"forward of {type(self).__name__} must return effective weights of shape "
                f"{tuple(weights.shape)}, got {shape}"
            )
        return made


def column_of_each_head(
    numbers: Float[Tensor, "*batch keys heads"], keys: Float[Tensor, "*heads keys key_dim"]
) -> Float[Tensor, "*heads keys 1"]:
    """Return a number of each key and head as `Estimator.remember` does: with the axes of keys."""
    return numbers.mT.unsqueeze(-1) if keys.dim() > numbers.dim() else numbers


def softmax_where(
    scores: Float[Tensor, "*batch queries keys"], shown: MaskMatrix | None
) -> Float[Tensor, "*batch queries keys"]:
    """Return the softmax over the keys where `shown` is true, and 0 elsewhere.

    A query without such a key has zeros. None shows all keys.
    """
    if shown is None:
        return scores.softmax(dim=-1)
    return scores.where(shown, torch.finfo(scores.dtype).min).softmax(dim=-1).where(shown, 0.0)


EstimatorFactory = Callable[..., Estimator]
"""Builds an estimator when called with `heads`, `query_dim`, `key_dim` and `input_dim`."""
