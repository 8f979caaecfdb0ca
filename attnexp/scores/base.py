"""The contract of a scoring function."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnexp.core.masks import Mask, MaskMatrix, ValidLens, fitting_mask


class Score(nn.Module, ABC):
    """Maps queries and keys to scores, which a softmax over the keys turns into weights.

    A subclass implements a(q, k) in `compare`. Work on the queries alone or on the keys alone
    belongs in `project_queries` and `project_keys`, so that a decoder projects its keys once per
    sequence instead of once per step. A score of minus infinity means weight zero. A kernel K
    returns log K, because softmax(log K) = K / sum K: Nadaraya-Watson regression is attention.

    The surrounding model sets `query_dim` and `key_dim`. All other arguments of a subclass are
    hyperparameters and come from its YAML file. The docstring of a subclass ends in an example of
    three lines, which the tests run.
    """

    compact: ClassVar[bool] = False
    """Whether keys out of reach have the score minus infinity, which may leave a query no key."""

    treats_keys_alike: bool = True
    """Whether keys in another order have the same scores, in that order."""

    of_products: bool = False
    """Whether it is made of products, by which points on a line cannot be told apart."""

    even: ClassVar[frozenset[str]] = frozenset()
    """Parameters w whose sign has no effect: -w gives the same scores, and runs report |w|."""

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__()
        self.query_dim = query_dim
        self.key_dim = key_dim

    def project_queries(
        self, queries: Float[Tensor, "*batch queries query_dim"]
    ) -> Float[Tensor, "*batch queries projected"]:
        """Return the part of the formula that involves only the queries; by default the queries."""
        return queries

    def project_keys(
        self, keys: Float[Tensor, "*batch keys key_dim"]
    ) -> Float[Tensor, "*batch keys projected"]:
        """Return the part of the formula that involves only the keys; by default the keys."""
        return keys

    @abstractmethod
    def compare(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> Float[Tensor, "*batch queries keys"]:
        """Return a(q, k) for every pair of projected queries and keys."""

    def as_dot_product(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> tuple[Float[Tensor, "*batch queries inner"], Float[Tensor, "*batch keys inner"]] | None:
        """Return projected (q', k') with q'.k' = a(q, k) + c(q), or None if there are none.

        The term c(q) does not depend on the key and cancels in the softmax, so attention through
        q'.k' has the same weights and can use the fused kernels of PyTorch.
        """
        return None

    def adapt(
        self,
        scores: Float[Tensor, "*batch queries keys"],
        queries: Float[Tensor, "*batch queries projected"],
        mask: Mask | None,
    ) -> Float[Tensor, "*batch queries keys"]:
        """Return the scores of projected queries, adapted to the keys that a mask leaves each.

        By default the scores themselves. A score with another `adapt` has no `as_dot_product`.
        """
        return scores

    def forward(
        self,
        queries: Float[Tensor, "*batch queries query_dim"],
        keys: Float[Tensor, "*batch keys key_dim"],
        mask: MaskMatrix | ValidLens | None = None,
    ) -> Float[Tensor, "*batch queries keys"]:
        """Return a(q, k) for every pair of raw queries and keys; see `Normalizer` for the mask."""
        projected = self.project_queries(queries)
        scores = self.compare(projected, self.project_keys(keys))
        left = None if mask is None else fitting_mask(mask, scores)
        return self.adapt(scores, projected, left)


def batched_product(
    a: Float[Tensor, "*batch rows inner"],
    b: Float[Tensor, "*batch inner columns"],
    out: Float[Tensor, "*batch rows columns"] | None = None,
) -> Float[Tensor, "*batch rows columns"]:
    """Return the products of stacked matrices. For three axes `bmm` starts faster than `@`."""
    return (torch.bmm if a.dim() == 3 else torch.matmul)(a, b, out=out)


ScoreFactory = Callable[..., Score]
"""Builds a score when called with `query_dim` and `key_dim`."""


def require_equal_dims(name: str, query_dim: int, key_dim: int) -> None:
    """Raise ValueError, for the score `name`, unless queries and keys have equal dimensions."""
    if query_dim != key_dim:
        raise ValueError(
            f"{name} needs queries and keys of one dimension, got {query_dim} and {key_dim}; "
            "additive and bilinear take unequal ones"
        )


def require_positive(name: str, value: float) -> None:
    """Raise ValueError unless `value` is a positive number."""
    if not value > 0:
        raise ValueError(f"{name} must be greater than 0, got {value}")
