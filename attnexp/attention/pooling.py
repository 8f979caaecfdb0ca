"""Attention pooling: one score, one softmax, one weighted average."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from attnexp.attention.base import Attention, Memory
from attnexp.attention.softmax import Mask, ValidLens, masked_softmax
from attnexp.scores.base import Score

FEW = 4096
"""The number of scores in a batch up to which a fused kernel saves no time.

Most of the time then goes into calling kernels, and the plain formula of a score calls fewer.
"""


def pool(
    score: Score,
    queries: Float[Tensor, "*batch queries projected"],
    memory: Memory,
    need_weights: bool,
) -> tuple[Float[Tensor, "*batch queries value_dim"], Float[Tensor, "*batch queries keys"] | None]:
    """Return f(q) = sum_i softmax_i(a(q, k_i)) v_i for projected queries, any leading axes."""
    if not need_weights and math.prod(queries.shape[:-1]) * memory.keys.shape[-2] > FEW:
        pair = score.as_dot_product(queries, memory.keys)
        if pair is not None:
            dot_queries, dot_keys = pair
            context = F.scaled_dot_product_attention(
                dot_queries, dot_keys, memory.values, attn_mask=memory.mask, scale=1.0
            )
            return context, None
    weights = masked_softmax(score.compare(queries, memory.keys), memory.mask)
    # without an axis for heads `bmm` suffices, and `@` takes longer to reach it
    product = torch.bmm if weights.dim() == 3 else torch.matmul
    return product(weights, memory.values), weights if need_weights else None


class AttentionPooling(Attention):
    """f(q) = sum_i alpha(q, k_i) v_i with alpha = softmax_i a(q, k_i), for one score a."""

    def __init__(self, score: Score, value_dim: int) -> None:
        super().__init__()
        self.score = score
        self.context_dim = value_dim

    def remember(
        self,
        keys: Float[Tensor, "batch keys key_dim"],
        values: Float[Tensor, "batch keys value_dim"],
        mask: Mask | ValidLens | None = None,
    ) -> Memory:
        memory = Memory.of(keys, values, mask)
        return Memory(self.score.project_keys(memory.keys), memory.values, memory.mask)

    def attend(
        self,
        queries: Float[Tensor, "batch queries query_dim"],
        memory: Memory,
        need_weights: bool = True,
    ) -> tuple[
        Float[Tensor, "batch queries context_dim"],
        Float[Tensor, "batch 1 queries keys"] | None,
    ]:
        score = self.score
        context, weights = pool(score, score.project_queries(queries), memory, need_weights)
        return context, None if weights is None else weights.unsqueeze(-3)
