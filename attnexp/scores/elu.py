"""The feature map of linear attention, as a score."""

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.scores.base import Score, require_equal_dims
from attnexp.scores.logarithm import log_positive


class Elu(Score):
    """a(q, k) = log phi(q).phi(k), with phi(x) = elu(x) + 1: x + 1 above 0, exp(x) below.

    Katharopoulos et al. (2020), equations 4 and 7. The weights are those of their linear
    attention, here computed for every pair. phi is positive, so that every key has a weight. On
    scalars the kernel is a product phi(q) phi(k), whose first factor cancels in the softmax: all
    queries have the same weights, and this score needs features.

    No parameters. Raises ValueError for unequal query and key dimensions.

    Example:
        >>> score = Elu(query_dim=2, key_dim=2)
        >>> score(torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0, 1.0], [0.0, 2.0]])).exp()
        tensor([[10.,  5.]])
    """

    of_products = True

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__(query_dim, key_dim)
        require_equal_dims("elu", query_dim, key_dim)

    def project_queries(
        self, queries: Float[Tensor, "*batch queries query_dim"]
    ) -> Float[Tensor, "*batch queries projected"]:
        return positive_features(queries)

    def project_keys(
        self, keys: Float[Tensor, "*batch keys key_dim"]
    ) -> Float[Tensor, "*batch keys projected"]:
        return positive_features(keys)

    def compare(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> Float[Tensor, "*batch queries keys"]:
        return log_positive(queries @ keys.mT)


def positive_features(vectors: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch dim"]:
    """Return elu(x) + 1, entry by entry, without the rounding of exp(x) - 1 + 1."""
    return torch.where(vectors > 0, vectors + 1, vectors.clamp(max=0).exp())
