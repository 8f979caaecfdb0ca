"""Any score of queries and keys of length 1, times a learned strength."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnexp.scores.base import ScoreFactory
from attnexp.scores.cosine import unit
from attnexp.scores.normed import Normed


class QueryKeyNorm(Normed):
    r"""a(q, k) = g a'(q / \|q\|, k / \|k\|) with a learned g and another score a', by default q.k.

    Henry et al. (2020), "Query-Key Normalization for Transformers", section 2.1: the dot product of
    vectors of length 1 is at most 1, and g in place of 1 / sqrt(d) sets how far a softmax can go. g
    is one number. The paper starts it at log2(L^2 - L), L the length that 97.5% of the training
    sequences do not exceed; here it starts at `initial_strength`, 10 by default, as for L = 32. A
    zero vector stays zero, and of a scalar only the sign is left. With a' = q.k the score is
    `Cosine`.

    Raises ValueError for an `inner` that is unknown or compact; see `Normed`.

    Example:
        >>> score = QueryKeyNorm(query_dim=2, key_dim=2, inner="dot", initial_strength=10.0)
        >>> score(torch.tensor([[3.0, 0.0]]), torch.tensor([[2.0, 0.0], [0.0, 5.0]])).tolist()
        [[10.0, 0.0]]
    """

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        inner: str | ScoreFactory = "dot",
        initial_strength: float = 10.0,
    ) -> None:
        super().__init__("query_key_norm", query_dim, key_dim, inner)
        self.strength = nn.Parameter(torch.tensor(float(initial_strength)))

    def norm_queries(
        self, queries: Float[Tensor, "*batch queries query_dim"]
    ) -> Float[Tensor, "*batch queries query_dim"]:
        return unit(queries)

    def norm_keys(
        self, keys: Float[Tensor, "*batch keys key_dim"]
    ) -> Float[Tensor, "*batch keys key_dim"]:
        return unit(keys)

    def compare(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> Float[Tensor, "*batch queries keys"]:
        return self.strength * self.inner.compare(queries, keys)

    def as_dot_product(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> tuple[Float[Tensor, "*batch queries inner"], Float[Tensor, "*batch keys inner"]] | None:
        products = self.inner.as_dot_product(queries, keys)
        return products and (self.strength * products[0], products[1])
