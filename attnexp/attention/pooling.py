"""Attention pooling: one score, one normalizer, one weighted average."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from attnexp.attention.base import Attention, Memory
from attnexp.attention.dropout import Dropout, weight_dropout
from attnexp.normalizers.base import Normalizer, NormalizerFactory
from attnexp.normalizers.masks import Mask, ValidLens
from attnexp.normalizers.softmax import Softmax
from attnexp.scores.base import Score

FEW = 4096
"""The number of scores in a batch up to which a fused kernel saves no time.

Most of the time then goes into calling kernels, and the plain formula of a score calls fewer.
"""


def pool(
    score: Score,
    normalizer: Normalizer,
    dropout: Dropout | None,
    queries: Float[Tensor, "*batch queries projected"],
    memory: Memory,
    need_weights: bool,
    bias: Float[Tensor, "*heads queries keys"] | None = None,
) -> tuple[Float[Tensor, "*batch queries value_dim"], Float[Tensor, "*batch queries keys"] | None]:
    """Return f(q) = sum_i w_i v_i for projected queries, any leading axes, w normalized scores.

    A bias is added to the scores before they are normalized.

    The weights beside it are those before dropout. A fused kernel computes the softmax alone, and
    its dropout would draw from the global generator, so it is used without dropout only.
    """
    drops = dropout is not None and dropout.training
    fusible = type(normalizer) is Softmax and not drops and not need_weights
    if fusible and math.prod(queries.shape[:-1]) * memory.keys.shape[-2] > FEW:
        pair = score.as_dot_product(queries, memory.keys)
        if pair is not None:
            dot_queries, dot_keys = pair
            context = F.scaled_dot_product_attention(
                dot_queries,
                dot_keys,
                memory.values,
                attn_mask=_fused_mask(memory.mask, bias),
                scale=1.0,
            )
            return context, None
    scores = score.compare(queries, memory.keys)
    weights = normalizer(scores if bias is None else scores + bias, memory.mask)
    kept = weights if dropout is None else dropout(weights)
    # without an axis for heads `bmm` suffices, and `@` takes longer to reach it
    product = torch.bmm if weights.dim() == 3 else torch.matmul
    return product(kept, memory.values), weights if need_weights else None


def _fused_mask(
    mask: Mask | None, bias: Float[Tensor, "*heads queries keys"] | None
) -> Tensor | None:
    """Return what the fused kernel adds to the scores, or a mask where nothing is added."""
    if mask is None or bias is None:
        return mask if bias is None else bias
    return bias.where(mask, -torch.inf)


class AttentionPooling(Attention):
    """f(q) = sum_i w_i(q) v_i with w(q) the normalized scores a(q, k_i), for one score a.

    The normalizer is the softmax where no other is given. In training a share `dropout` of the
    weights is dropped; see `Dropout`.

    Raises ValueError for a dropout outside [0, 1).
    """

    def __init__(
        self,
        score: Score,
        value_dim: int,
        normalizer: NormalizerFactory = Softmax,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.score = score
        self.normalizer = normalizer(heads=1)
        self.dropout = weight_dropout(dropout)
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
        projected = self.score.project_queries(queries)
        context, weights = pool(
            self.score, self.normalizer, self.dropout, projected, memory, need_weights
        )
        return context, None if weights is None else weights.unsqueeze(-3)
