"""Attention pooling: one score, one normalizer, one weighted average."""

import math
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from attnexp.attention.base import Attention, Memory, zero_unless_seen
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
from attnexp.estimators.base import Compared, Estimator, EstimatorFactory
from attnexp.estimators.local_constant import LocalConstant
from attnexp.normalizers.base import Normalizer, NormalizerFactory
from attnexp.normalizers.softmax import Softmax
from attnexp.scores.base import Score, batched_product
from attnexp.scores.inner_product import InnerProduct

FEW = 4096
"""The number of scores in a batch up to which a fused kernel saves no time.

Most of the time then goes into calling kernels, and the plain formula of a score calls fewer.
"""


LARGE = 2**25
"""The number of numbers from which attention goes tile by tile, unless the weights are asked for.

A pair of query and key counts as one number for each projected feature, as the additive score
makes, or as one if the score is a dot product. In float32 these are 128 MiB.
"""


class Mechanism(NamedTuple):
    """Holds the parts of an attention. `require_fit` says which go together."""

    score: Score
    normalizer: Normalizer
    estimator: Estimator
    dropout: Dropout | None


def require_fit(estimator: Estimator, score: Score, normalizer: Normalizer) -> None:
    """Raise ValueError unless an estimator can use a score and a normalizer."""
    if not estimator.needs_products:
        return
    name = type(estimator).__name__
    if not isinstance(score, InnerProduct):
        raise ValueError(
            f"{name} takes the products of a score, and {type(score).__name__} has none: choose "
            "model=dot, scaled_dot, bilinear or cosine"
        )
    if type(normalizer) is not Softmax:
        raise ValueError(
            f"{name} takes products, which no normalizer changes, and got "
            f"{type(normalizer).__name__}: choose normalizer=softmax, the default"
        )


def pool(
    mechanism: Mechanism,
    queries: Float[Tensor, "*batch queries query_dim"],
    memory: Memory,
    need_weights: bool,
    bias: Float[Tensor, "*shared queries keys"] | None = None,
) -> tuple[Float[Tensor, "*heads queries value_dim"], Float[Tensor, "*heads queries keys"] | None]:
    """Return f(q) = sum_i l_i v_i for queries of any leading axes.

    l are the effective weights that the estimator makes of the normalized scores. A bias is added
    to the scores before they are normalized.

    The weights returned are the effective ones, before dropout. A fused kernel computes the average
    by the softmax alone, and its dropout would draw from the global generator, so it is used
    without dropout only. `LARGE` attention goes tile by tile, but not with dropout, which draws for
    all weights at once.

    In float16 and bfloat16 the weights are float32, and are rounded to the dtype of the values
    before they are multiplied. Raises ValueError for a mask of (batch, keys).
    """
    require_row_for_each_query(memory.mask, queries)
    dropout, estimator = mechanism.dropout, mechanism.estimator
    drops = dropout is not None and dropout.training
    pairs = math.prod(queries.shape[:-1]) * memory.keys.shape[-2]
    if not need_weights and not drops and pairs > FEW:
        context = _without_weights(mechanism, queries, memory, bias, pairs)
        if context is not None:
            return context, None
    _, weights = weighed(mechanism, queries, memory.keys, memory.mask, bias)
    kept = weights if dropout is None else dropout(weights)
    compared = comparison(mechanism, queries, memory)
    if not need_weights:
        return estimator.answer(kept, memory.values, compared), None
    effective = estimator.effective(kept, compared)
    context = batched_product(effective.to(memory.values.dtype), memory.values)
    return context, estimator.effective(weights, compared) if drops else effective


def comparison(
    mechanism: Mechanism, queries: Float[Tensor, "*batch queries query_dim"], memory: Memory
) -> Compared:
    """Return the queries and keys that the estimator gets beside the weights.

    Zeros take the place of what it remembered of keys that no query may attend to.
    """
    products = mechanism.estimator.needs_products
    projected = mechanism.score.project_queries(queries) if products else None
    kept = None if memory.kept is None else zero_unless_seen(memory.kept, memory.mask)
    return Compared(queries, memory.keys, kept, mask_matrix(memory.mask), projected)


def weighed(
    mechanism: Mechanism,
    queries: Float[Tensor, "*batch queries query_dim"],
    keys: Float[Tensor, "*batch keys projected"],
    mask: Mask | None,
    bias: Float[Tensor, "*heads queries keys"] | None = None,
) -> tuple[Float[Tensor, "*batch queries keys"], Float[Tensor, "*batch queries keys"]]:
    """Return the scores, and the weights that the estimator gets: normalized, or the products.

    `keys` are projected, as `Memory` holds them.
    """
    score, shown = mechanism.score, mask_matrix(mask)
    projected = score.project_queries(queries)
    scores = score.compare(projected, keys)
    if mechanism.estimator.needs_products:
        return scores, scores if shown is None else scores.where(shown, 0.0)
    scores = score.adapt(scores, projected, mask)
    if bias is not None:
        scores = scores + bias
    return scores, cast(Tensor, mechanism.normalizer(scores, shown))


def _without_weights(
    mechanism: Mechanism,
    queries: Float[Tensor, "*batch queries query_dim"],
    memory: Memory,
    bias: Float[Tensor, "*heads queries keys"] | None,
    pairs: int,
) -> Float[Tensor, "*batch queries value_dim"] | None:
    """Return the context by the fused kernel or tile by tile, or None if neither is faster."""
    score, normalizer, estimator, _ = mechanism
    keys, values, mask, kept = memory
    if not estimator.by_head:
        return None
    projected = score.project_queries(queries)
    if type(estimator) is not LocalConstant:
        if pairs * projected.shape[-1] < LARGE:
            return None
        fit = estimator, queries, kept
        return stream(score, normalizer, projected, keys, values, mask, bias, fit)
    plain = type(normalizer) is Softmax
    products = score.as_dot_product(projected, keys) if plain else None
    if products is not None and (pairs < LARGE or _goes_by_tiles(products[0], values, mask)):
        causal = bias is None and _is_triangle(mask)
        added = None if causal else _fused_mask(mask_matrix(mask), bias)
        return F.scaled_dot_product_attention(
            *products, values, attn_mask=added, is_causal=causal, scale=1.0
        )
    if products is not None:
        return stream_products(score, projected, keys, values, mask, bias)
    if pairs * projected.shape[-1] >= LARGE:
        return stream(score, normalizer, projected, keys, values, mask, bias)
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
    mechanism: Mechanism, queries: Float[Tensor, "*batch queries query_dim"], memory: Memory
) -> Bool[Tensor, "*heads queries"]:
    """Return whether the effective weights of queries have a sum that is not 0."""
    ones = memory._replace(values=torch.ones_like(memory.values[..., :1]))
    sums, _ = pool(mechanism._replace(dropout=None), queries, ones, need_weights=False)
    return sums.squeeze(-1).abs() > 0


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
    Another `estimator` than the local constant makes other weights of them, see `Estimator`.
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
        estimator: EstimatorFactory = LocalConstant,
    ) -> None:
        super().__init__()
        self.score = score
        self.normalizer = normalizer(heads=1)
        self.dropout = weight_dropout(dropout)
        query_dim, key_dim = score.query_dim, score.key_dim
        self.estimator = estimator(heads=1, query_dim=query_dim, key_dim=key_dim, input_dim=key_dim)
        require_fit(self.estimator, score, self.normalizer)
        self.context_dim = value_dim

    @property
    def mechanism(self) -> Mechanism:
        """The score, normalizer, estimator and dropout."""
        return Mechanism(self.score, self.normalizer, self.estimator, self.dropout)

    def remember(
        self,
        keys: Float[Tensor, "batch keys key_dim"],
        values: Float[Tensor, "batch keys value_dim"],
        mask: Mask | ValidLens | None = None,
    ) -> Memory:
        seen = Memory.of(keys, values, mask)
        projected = self.estimator.prepare(self.score.project_keys(seen.keys))
        kept = self.estimator.remember(seen.keys, seen.keys)
        return Memory(projected, seen.values, seen.mask, kept)

    def attend(
        self,
        queries: Float[Tensor, "batch queries query_dim"],
        memory: Memory,
        need_weights: bool = True,
    ) -> tuple[
        Float[Tensor, "batch queries context_dim"],
        Float[Tensor, "batch 1 queries keys"] | None,
    ]:
        context, weights = pool(self.mechanism, queries, memory, need_weights)
        return context, None if weights is None else weights.unsqueeze(-3)

    def reached(
        self, queries: Float[Tensor, "batch queries query_dim"], memory: Memory
    ) -> Bool[Tensor, "batch queries"]:
        return reached(self.mechanism, queries, memory)
