"""Any score of queries and keys that went through a layer norm."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnexp.scores.base import ScoreFactory
from attnexp.scores.cosine import unit
from attnexp.scores.normed import Normed


class QueryKeyLayerNorm(Normed):
    r"""a(q, k) = a'(g_q * n(q), g_k * n(k)), n(x) = sqrt(d) x / \|x\|, with learned gains g_q, g_k.

    Dehghani et al. (2023), "Scaling Vision Transformers to 22 Billion Parameters", section 2, with
    another score a', by default q.k / sqrt(d). * multiplies feature by feature. As in the paper the
    layer norm has neither biases nor centring, so that each feature has a root mean square of 1. A
    zero vector stays zero. g_q has query_dim entries and g_k key_dim, all 1 at the start; the heads
    share them, as they share a score.

    Raises ValueError for an `inner` that is unknown or compact; see `Normed`.

    Example:
        >>> score = QueryKeyLayerNorm(query_dim=4, key_dim=4, inner="scaled_dot")
        >>> score(torch.tensor([[3.0, 3.0, 3.0, 3.0]]), 5 * torch.eye(4)[:2]).tolist()
        [[1.0, 1.0]]
    """

    def __init__(
        self, query_dim: int, key_dim: int, inner: str | ScoreFactory = "scaled_dot"
    ) -> None:
        super().__init__("query_key_layer_norm", query_dim, key_dim, inner)
        self.g_q = nn.Parameter(torch.ones(query_dim))
        self.g_k = nn.Parameter(torch.ones(key_dim))

    def norm_queries(
        self, queries: Float[Tensor, "*batch queries query_dim"]
    ) -> Float[Tensor, "*batch queries query_dim"]:
        return self.g_q * self.query_dim**0.5 * unit(queries)

    def norm_keys(
        self, keys: Float[Tensor, "*batch keys key_dim"]
    ) -> Float[Tensor, "*batch keys key_dim"]:
        return self.g_k * self.key_dim**0.5 * unit(keys)
