"""Multi-head attention with a gate on its output."""

from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from attnexp.attention.multihead import MultiHead


class Gated(MultiHead):
    """The context is W_o [g_1 head_1; ...; g_h head_h], g = sigmoid(W_g q), feature by feature.

    Qiu et al. (2025, arXiv 2505.06708), G1: the gate behind the sum of values, with a number for
    each feature of each head, from the vector that queries are made of. A head can answer 0, which
    softmax weights alone cannot. The weights that are returned are those of the heads, before the
    gate.

    Other arguments are those of `MultiHead`.
    """

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.W_g = nn.Linear(self.W_q.in_features, self.heads * self.head_dim, bias=False)

    def joined(
        self,
        heads: Float[Tensor, "batch heads queries head_dim"],
        queries: Float[Tensor, "batch queries query_dim"],
    ) -> Float[Tensor, "batch queries context_dim"]:
        return super().joined(heads * self.split(self.W_g(queries).sigmoid()), queries)
