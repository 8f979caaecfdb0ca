"""Attention pooling: one score, one normalizer, one weighted average."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from attnexp.attention.base import Attention, Memory
from attnexp.attention.dropout import Dropout, weight_dropout
from attnexp.attention.streaming import stream, stream_products
from attnexp.core.masks import (
    Mask,
    MaskMatrix,
    StructuredMask,
    ValidLens,
    mask_matrix,
    require_row_for_each_query,
)
from attnexp.normalizers.base import Normalizer, NormalizerFactory
from attnexp.normalizers.softmax import Softmax
from attnexp.scores.base import Score, batched_product

FEW = 4096
"""The number of scores in a batch up to which a fused kernel saves no time.

Most of the time then goes into calling kernels, and the plain formula of a score calls fewer.
"""


LARGE = 2**25
"""The number of numbers from which attention goes tile by tile, unless the weights are asked for.

A pair of query and key counts as one number for each projected feature, as the additive score
makes, or as one if the score is a dot product. In float32 these are 128 MiB.
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

    The weights returned are those before dropout. A fused kernel computes the softmax alone, and
    its dropout would draw from the global generator, so it is used without dropout only. `LARGE`
    attention goes tile by tile, but not with dropout, which draws for all weights at once.

    In float16 and bfloat16 the weights are float32, and are rounded to the dtype of the values
    before they are multiplied. Raises ValueError for a mask of (batch, keys).
    """
    require_row_for_each_query(memory.mask, queries)
    drops = dropout is not None and dropout.training
    pairs = math.prod(queries.shape[:-1]) * memory.keys.shape[-2]
    if not need_weights and not drops and pairs > FEW:
        context = _without_weights(score, normalizer, queries, memory, bias, pairs)
        if context is not None:
            return context, None
    scores = score.adapt(score.compare(queries, memory.keys), queries, memory.mask)
    mask = mask_matrix(memory.mask)
    weights = normalizer(scores if bias is None else scores + bias, mask)
    kept = weights if dropout is None else dropout(weights)
    context = batched_product(kept.to(memory.values.dtype), memory.values)
    return context, weights if need_weights else None


def _without_weights(
    score: Score,
    normalizer: Normalizer,
    queries: Float[Tensor, "*batch queries projected"],
    memory: Memory,
    bias: Float[Tensor, "*heads queries keys"] | None,
    pairs: int,
) -> Float[Tensor, "*batch queries value_dim"] | None:
    """Return the context by the fused kernel or tile by tile, or None if neither is faster."""
    keys, values, mask = memory
    products = score.as_dot_product(queries, keys) if type(normalizer) is Softmax else None
    if products is not None and (pairs < LARGE or _goes_by_tiles(products[0], values, mask)):
        causal = bias is None and _is_triangle(mask)
        added = None if causal else _fused_mask(mask_matrix(mask), bias)
        return F.scaled_dot_product_attention(
            *products, values, attn_mask=added, is_causal=causal, scale=1.0
        )
    if products is not None:
        return stream_products(score, queries, keys, values, mask, bias)
    if pairs * queries.shape[-1] >= LARGE:
        return stream(score, normalizer, queries, keys, values, mask, bias)
    return None


def _goes_by_tiles(queries: Tensor, values: Tensor, mask: Mask | None) -> bool:
    """Return whether the fused kernel makes no matrix of all weights, and needs none for a mask."""
    flat = queries.dim() == 4 and queries.shape[-1] == values.shape[-1]
    return flat and (not isinstance(mask, StructuredMask) or _is_triangle(mask))


def _is_triangle(mask: Mask | None) -> bool:
    """Return whether a mask is the one that the fused kernel calls `is_causal`."""
    return isinstance(mask, StructuredMask) and mask.triangle and mask.seen() is None


@torch.no_grad()
def reached(
    score: Score,
    normalizer: Normalizer,
    queries: Float[Tensor, "*batch queries projected"],
    memory: Memory,
) -> Bool[Tensor, "*batch queries"]:
    """Return whether projected queries have weight on any key."""
    ones = memory._replace(values=torch.ones_like(memory.values[..., :1]))
    sums, _ = pool(score, normalizer, None, queries, ones, need_weights=False)
    return sums.squeeze(-1) > 0


def _fused_mask(
    mask: MaskMatrix | None, bias: Float[Tensor, "*heads queries keys"] | None
) -> Tensor | None:
    """Return the tensor that the fused kernel adds to the scores, or a mask if it adds nothing."""
    if mask is None or bias is None:
        return mask if bias is None else bias
    return bias.where(mask, -torch.inf)


class AttentionPooling(Attention):
    """f(q) = sum_i w_i(q) v_i with w(q) the normalized scores a(q, k_i), for one score a.

    `value_dim` is the size of a value, and so of a context. The default normalizer is the softmax.
    In training a share `dropout` of the weights is dropped; see `Dropout`. Inputs are float64,
    float32, float16 or bfloat16, as the parameters of the score are. Contexts have the same dtype,
    and weights are float32 at least.

    Raises ValueError for a dropout outside [0, 1), and for a mask of (batch, keys), which must be
    (batch, 1, keys).

    Example:
        >>> attention = AttentionPooling(Additive(20, 2, hidden_dim=8), value_dim=4)
        >>> queries, keys = torch.randn(2, 1, 20), torch.ones(2, 10, 2)
        >>> values = torch.arange(40.0).view(1, 10, 4).expand(2, 10, 4)
        >>> context, weights = attention(queries, keys, values, torch.tensor([2, 6]))
        >>> context.round().tolist()
        [[[2.0, 3.0, 4.0, 5.0]], [[10.0, 11.0, 12.0, 13.0]]]
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

    def reached(
        self, queries: Float[Tensor, "batch queries query_dim"], memory: Memory
    ) -> Bool[Tensor, "batch queries"]:
        return reached(self.score, self.normalizer, self.score.project_queries(queries), memory)
