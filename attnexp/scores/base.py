"""The contract of a scoring function."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn


class Score(nn.Module, ABC):
    """Turns queries and keys into scores; a softmax over the keys turns scores into weights.

    A subclass writes a(q, k) in `compare`. Whatever can be done to queries alone or to keys alone
    goes into `project_queries` and `project_keys`, so that a decoder projects its keys once a
    sequence and not once a step. A score of minus infinity means weight zero. A kernel K returns
    log K, because softmax(log K) = K / sum K: Nadaraya-Watson regression is attention.

    Sizes (`query_dim`, `key_dim`) come from what surrounds the score. All other arguments of a
    subclass are its hyperparameters, and come from its YAML file.
    """

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__()
        self.query_dim = query_dim
        self.key_dim = key_dim

    def project_queries(
        self, queries: Float[Tensor, "*batch queries query_dim"]
    ) -> Float[Tensor, "*batch queries projected"]:
        """The part of the formula that needs only the queries; by default the queries."""
        return queries

    def project_keys(
        self, keys: Float[Tensor, "*batch keys key_dim"]
    ) -> Float[Tensor, "*batch keys projected"]:
        """The part of the formula that needs only the keys; by default the keys."""
        return keys

    @abstractmethod
    def compare(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> Float[Tensor, "*batch queries keys"]:
        """a(q, k) for every pair of projected queries and keys."""

    def as_dot_product(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> tuple[Float[Tensor, "*batch queries inner"], Float[Tensor, "*batch keys inner"]] | None:
        """Projected (q', k') with q'.k' = a(q, k) + c(q), or None where there are no such.

        A term that does not depend on the key cancels in the softmax, so attention through q'.k'
        has the same weights and can use the fused kernels of PyTorch.
        """
        return None

    def forward(
        self,
        queries: Float[Tensor, "*batch queries query_dim"],
        keys: Float[Tensor, "*batch keys key_dim"],
    ) -> Float[Tensor, "*batch queries keys"]:
        """a(q, k) for every pair of raw queries and keys."""
        return self.compare(self.project_queries(queries), self.project_keys(keys))


ScoreFactory = Callable[..., Score]
"""Builds a score when called with `query_dim` and `key_dim`."""


def require_equal_dims(name: str, query_dim: int, key_dim: int) -> None:
    """Raise ValueError unless queries and keys have one dimension, as `name` needs."""
    if query_dim != key_dim:
        raise ValueError(
            f"{name} needs queries and keys of one dimension, got {query_dim} and {key_dim}; "
            "additive and bilinear take unequal ones"
        )


def require_positive(name: str, value: float) -> None:
    """Raise ValueError unless `value` is a positive number."""
    if not value > 0:
        raise ValueError(f"{name} must be greater than 0, got {value}")
