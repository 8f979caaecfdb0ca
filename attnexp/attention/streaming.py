"""Attention in tiles, whose memory grows with queries + keys instead of queries x keys.

The weights of a tile are computed, used and dropped; the backward pass computes them again. A tile
holds all keys of some queries, because many normalizers need whole rows. Its numbers take some
megabytes.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.func import functional_call

from attnexp.attention.tiles import compare_tile
from attnexp.core.masks import LeaveOneOut, Mask, StructuredMask, hide, mask_matrix
from attnexp.estimators.base import Compared, Estimator
from attnexp.normalizers.base import Normalizer
from attnexp.normalizers.softmax import Softmax
from attnexp.scores.base import Score
from attnexp.scores.dot import Dot

TILE = 2**20
"""Numbers in a tile on a processor: 4 MiB of float32.

They do not fit in its second cache: in smaller tiles, starting an operation takes as long as the
cache saves.
"""

LARGE_TILE = 2**25
"""Numbers in a tile on other devices, where starting a kernel takes longer than a small tile."""

GROUPS, LEAST = 64, 64
"""The number of groups of near queries that leave out keys together, and the fewest in a group."""

FEW_FEATURES = 4
"""The most features of a key for which near queries are found by their first feature."""

MOMENTS = 32
"""The most moments of keys and values for which a gradient is found together with the context."""

Tile = tuple[slice, slice]
"""Some examples, and some queries of each."""


def stream(
    score: Score,
    normalizer: Normalizer,
    queries: Float[Tensor, "batch *heads queries projected"],
    keys: Float[Tensor, "batch *heads keys projected"],
    values: Float[Tensor, "batch *heads keys value_dim"],
    mask: Mask | None,
    bias: Float[Tensor, "*bias queries keys"] | None = None,
    fit: tuple[Estimator, Tensor, Tensor | None] | None = None,
) -> Float[Tensor, "batch *heads queries value_dim"]:
    """Return f(q) = sum_i w_i v_i for projected queries, w the normalized scores plus bias.

    With a `fit` they are the effective weights of an estimator, which gets queries as they were
    before they were projected, and the numbers that it kept of each key.

    Gradients reach queries, keys, values, the bias, and the parameters of score and normalizer.
    They cannot be differentiated once more, nor batched by `torch.func.vmap`.
    """
    inner = queries.shape[-1]
    if fit is None:
        return _streamed(_Pooling(score, normalizer), inner, mask, queries, keys, values, bias)
    estimator, raw, kept = fit
    rule = _Fitting(score, normalizer, estimator, inner, values.shape[-1])
    queries = torch.cat([queries, raw], dim=-1)
    values = values if kept is None else torch.cat([values, kept], dim=-1)
    return _streamed(rule, inner, mask, queries, keys, values, bias)


def stream_products(
    score: Score,
    queries: Float[Tensor, "batch *heads queries projected"],
    keys: Float[Tensor, "batch *heads keys projected"],
    values: Float[Tensor, "batch *heads keys value_dim"],
    mask: Mask | None,
    bias: Float[Tensor, "*bias queries keys"] | None = None,
) -> Float[Tensor, "batch *heads queries value_dim"]:
    """Return `stream` for the softmax and a score that can be written as a dot product.

    If the queries alone need a gradient, it is found together with the context, in one pass. If
    keys are data with few features, those whose weight rounds to 0 are left out, see `_near_keys`.
    """
    inner_queries, inner_keys = _products(score, queries, keys)
    moments = (values.shape[-1] + 1) * (inner_keys.shape[-1] + 1) - 1
    alone = not any(each is not None and each.requires_grad for each in (inner_keys, values, bias))
    if alone and bias is None and moments <= MOMENTS:
        return _of_data(score, mask, queries, keys, values)
    inner = inner_queries.shape[-1]
    rule = _Pooling(Dot(inner, inner), Softmax(heads=1))
    return _streamed(rule, 1, mask, inner_queries, inner_keys, values, bias)


def _products(score: Score, queries: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """Return (q', k') with q'.k' = a(q, k) + c(q), see `Score.as_dot_product`."""
    products = score.as_dot_product(queries, keys)
    assert products is not None
    # contiguous columns: a product with few of them takes a third of the time
    return products[0], products[1].mT.contiguous().mT


def _of_data(
    score: Score, mask: Mask | None, queries: Tensor, keys: Tensor, values: Tensor
) -> Tensor:
    """Return the softmax attention to keys and values that need no gradient.

    The products of a group of queries near each other are made of the keys near them alone. A
    kernel of the distance then centres on these, so that the difference of q.k and k^2 / 2 loses
    digits to the extent of the group instead of the range of all keys.
    """
    all_queries, all_keys = _products(score, queries, keys)
    way = _OnePass.apply if all_queries.requires_grad else _context
    hides_one = mask is None or isinstance(mask, LeaveOneOut)
    few = queries.dim() == 3 and len(queries) == 1 and all_keys.shape[-1] <= FEW_FEATURES
    if not (hides_one and few and keys.shape[-2] > 1):
        return cast(Tensor, way(mask, all_queries, all_keys, values))
    found = all_queries[0].detach()
    order = found[:, 0].argsort()
    groups = order.split(max(LEAST, len(order) // GROUPS))
    if 2 * len(_near_keys(found[groups[len(groups) // 2]], all_keys[0])) > keys.shape[-2]:
        return cast(Tensor, way(mask, all_queries, all_keys, values))
    contexts = []
    for rows in groups:
        near = _near_keys(found[rows], all_keys[0])
        part = mask.select(rows).select_keys(near) if isinstance(mask, LeaveOneOut) else None
        some = _products(score, queries[:, rows], keys.index_select(-2, near))
        contexts.append(way(part, *some, values.index_select(-2, near)))
    return torch.cat(contexts, dim=-2)[:, order.argsort()]


def _near_keys(
    queries: Float[Tensor, "queries inner"], keys: Float[Tensor, "keys inner"]
) -> Int[Tensor, " near"]:
    """Return the places of the keys that may have a weight above 0 for one of the queries.

    The softmax of q.k gives a key j no weight if q.(k_j - k_r) is below the logarithm of the
    smallest number, for any key r that q may attend to. With c the middle of the queries and d
    their largest distance from it in each feature, q.(k_j - k_r) <= c.(k_j - k_r) + d.|k_j - k_r|.
    Here r is the second best key for c. If a mask hides it, the best one is left, which scores at
    most d.|k_best - k_r| less than r. The bound allows for the rounding of the scores, which
    matters if they are large.
    """
    low, high = queries.aminmax(dim=0)
    middle, distance = (low + high) / 2, (high - low) / 2
    scores = keys @ middle
    best = scores.argmax().unsqueeze(0)
    second = scores.index_fill(0, best, -torch.inf).argmax().unsqueeze(0)
    gaps = (keys - keys.index_select(0, second)).abs_()
    kind = torch.finfo(keys.dtype)
    rounding = 16 * kind.eps * scores.abs().amax()
    highest, gap = scores.index_select(0, second)[0], gaps.index_select(0, best)[0]
    least = highest - gap @ distance + math.log(kind.tiny) + math.log(kind.eps / 2)
    least = least - rounding
    return torch.addmv(scores, gaps, distance).lt_(least).logical_not_().nonzero().squeeze(-1)


def _context(mask: Mask | None, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Return the softmax attention tile by tile, without a gradient."""
    context = values.new_empty(*queries.shape[:-1], values.shape[-1])
    for tile in _tiles(queries, keys, 1):
        scores = _rows(queries, tile) @ keys[tile[0]].mT
        weights = _softmax(hide(scores, _mask_part(mask, tile, queries.dim())))
        _rows(context, tile).copy_(weights @ values[tile[0]])
    return context


def _streamed(rule: "_Pooling", inner: int, mask: Mask | None, *inputs: Tensor | None) -> Tensor:
    """Return the rule tile by tile for queries, keys, values and bias, with all gradients."""
    own = dict(rule.named_parameters())
    return cast(Tensor, _Streamed.apply(rule, inner, mask, tuple(own), *inputs, *own.values()))


def _tiles(queries: Tensor, keys: Tensor, inner: int) -> Iterator[Tile]:
    """Yield the tiles in which each pair of query and key takes `inner` numbers."""
    size = TILE if queries.device.type == "cpu" else LARGE_TILE
    examples, count = queries.shape[0], queries.shape[-2]
    row = inner * keys.shape[-2] * queries[0, ..., 0, 0].numel()
    rows = min(max(1, size // row), count)
    together = max(1, size // (row * count))
    for example in range(0, examples, together):
        for first in range(0, count, rows):
            yield slice(example, example + together), slice(first, first + rows)


def _part(matrix: Tensor, tile: Tile, axes: int) -> Tensor:
    """Return the tile of a mask or a bias that broadcasts to scores with this many axes."""
    examples, rows = tile
    if matrix.dim() == axes and matrix.shape[0] > 1:
        matrix = matrix[examples]
    return matrix[..., rows, :] if matrix.shape[-2] > 1 else matrix


def _mask_part(mask: Mask | None, tile: Tile, axes: int) -> Mask | None:
    if isinstance(mask, StructuredMask):
        return mask.select(tile[1], tile[0])
    return mask if mask is None else _part(mask, tile, axes)


def _rows(tensor: Tensor, tile: Tile) -> Tensor:
    """Return a tile's rows of queries, of contexts or of their gradients."""
    examples, rows = tile
    return tensor[examples, ..., rows, :]


def _parts(tensors: Sequence[Tensor | None], tile: Tile, axes: int) -> list[Tensor | None]:
    """Return a tile's part of queries, keys, values and bias, or of their gradients.

    Parameters, which may follow, are whole in every tile.
    """
    queries, keys, values, bias, *parameters = tensors
    return [
        None if queries is None else _rows(queries, tile),
        None if keys is None else keys[tile[0]],
        None if values is None else values[tile[0]],
        None if bias is None else _part(bias, tile, axes),
        *parameters,
    ]


def _softmax(scores: Float[Tensor, "*batch queries keys"]) -> Float[Tensor, "*batch queries keys"]:
    """Return `Softmax`, in one operation if every row has a key left.

    A GPU is not asked whether every row has one: the program would wait for the answer.
    """
    weights = scores.softmax(dim=-1)
    if scores.device.type != "cpu" or weights[..., 0].isnan().any():
        return cast(Tensor, Softmax(heads=1)(scores))
    return weights


class _Pooling(nn.Module):
    """Computes the context of a tile for any score and normalizer."""

    def __init__(self, score: Score, normalizer: Normalizer) -> None:
        super().__init__()
        self.score = score
        self.normalizer = normalizer

    value_dim: int | None = None
    """The size of a context, None if it is that of a value."""

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        bias: Tensor | None,
        mask: Mask | None,
    ) -> Tensor:
        weights = self.weights(queries, keys, bias, mask)
        return weights.to(values.dtype) @ values

    def weights(
        self, queries: Tensor, keys: Tensor, bias: Tensor | None, mask: Mask | None
    ) -> Tensor:
        """Return the normalized scores."""
        scores = self.score.adapt(compare_tile(self.score, queries, keys), queries, mask)
        scores = hide(scores if bias is None else scores + bias, mask)
        plain = type(self.normalizer) is Softmax
        return _softmax(scores) if plain else cast(Tensor, self.normalizer(scores))


class _Fitting(_Pooling):
    """Computes the context of a tile for any score, normalizer and estimator.

    Queries have `inner` projected numbers and then their own. Values have `value_dim` numbers and
    then those that the estimator kept of the key.
    """

    def __init__(
        self,
        score: Score,
        normalizer: Normalizer,
        estimator: Estimator,
        inner: int,
        value_dim: int,
    ) -> None:
        super().__init__(score, normalizer)
        self.estimator = estimator
        self.inner, self.value_dim = inner, value_dim

    def forward(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        bias: Tensor | None,
        mask: Mask | None,
    ) -> Tensor:
        projected, raw = queries[..., : self.inner], queries[..., self.inner :]
        values, kept = values[..., : self.value_dim], values[..., self.value_dim :]
        weights = self.weights(projected, keys, bias, mask)
        compared = Compared(raw, keys, kept, mask_matrix(mask))
        return self.estimator.answer(weights, values, compared)


class _Streamed(torch.autograd.Function):
    """Computes the rule tile by tile; the backward pass computes each tile again."""

    @staticmethod
    def forward(
        ctx: Any,
        rule: "_Pooling",
        inner: int,
        mask: Mask | None,
        names: tuple[str, ...],
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        bias: Tensor | None,
        *parameters: Tensor,
    ) -> Tensor:
        ctx.rule, ctx.inner, ctx.mask, ctx.names = rule, inner, mask, names
        ctx.save_for_backward(queries, keys, values, bias, *parameters)
        context = values.new_empty(*queries.shape[:-1], rule.value_dim or values.shape[-1])
        for tile in _tiles(queries, keys, inner):
            inputs = _parts((queries, keys, values, bias), tile, queries.dim())
            _rows(context, tile).copy_(rule(*inputs, _mask_part(mask, tile, queries.dim())))
        return context

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        queries, keys, values, bias, *parameters = ctx.saved_tensors
        needed = ctx.needs_input_grad[4:]
        inputs = (queries, keys, values, bias, *parameters)
        sums = [
            torch.zeros_like(each) if need else None
            for each, need in zip(inputs, needed, strict=True)
        ]
        axes = queries.dim()
        for tile in _tiles(queries, keys, ctx.inner):
            leaves = [
                None if each is None else each.detach().requires_grad_(need)
                for each, need in zip(_parts(inputs, tile, axes), needed, strict=True)
            ]
            parameters = dict(zip(ctx.names, cast(list[Tensor], leaves[4:]), strict=True))
            with torch.enable_grad():
                given = (*leaves[:4], _mask_part(ctx.mask, tile, axes))
                context = functional_call(ctx.rule, parameters, given)
            if not context.requires_grad:
                continue
            found = torch.autograd.grad(
                context,
                [leaf for leaf in leaves if leaf is not None and leaf.requires_grad],
                _rows(gradient, tile),
                allow_unused=True,
            )
            totals = [total for total in _parts(sums, tile, axes) if total is not None]
            for total, part in zip(totals, found, strict=True):
                if part is not None:
                    total.add_(part)
        return None, None, None, None, *sums


class _OnePass(torch.autograd.Function):
    """Attends by the softmax of q.k, and finds the gradient by q together with the context.

    The derivative of f(q) = sum_i w_i v_i is the covariance of values and keys under the weights,
    sum_i w_i v_i k_i' - f(q) (sum_i w_i k_i)'. The keys are centred first, and the values in the
    products: that changes nothing but the rounding.
    """

    @staticmethod
    def forward(
        ctx: Any, mask: Mask | None, queries: Tensor, keys: Tensor, values: Tensor
    ) -> Tensor:
        near = keys - keys.mean(dim=-2, keepdim=True)
        centre = values.mean(dim=-2, keepdim=True)
        products = ((values - centre).unsqueeze(-1) * near.unsqueeze(-2)).flatten(-2)
        moments = torch.cat([values, near, products], dim=-1).mT.contiguous().mT
        sizes = [values.shape[-1], keys.shape[-1], products.shape[-1]]
        context = values.new_empty(*queries.shape[:-1], values.shape[-1])
        slope = values.new_empty(*context.shape, keys.shape[-1])
        for tile in _tiles(queries, keys, 1):
            examples, rows = tile
            scores = _rows(queries, tile) @ keys[examples].mT
            weights = _softmax(hide(scores, _mask_part(mask, tile, queries.dim())))
            mean, key, product = (weights @ moments[examples]).split(sizes, dim=-1)
            _rows(context, tile).copy_(mean)
            off = (mean - centre[examples]).unsqueeze(-1)
            slope[examples, ..., rows, :, :] = product.unflatten(
                -1, (-1, keys.shape[-1])
            ) - off * key.unsqueeze(-2)
        ctx.save_for_backward(slope)
        return context

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (slope,) = ctx.saved_tensors
        return None, (gradient.unsqueeze(-2) @ slope).squeeze(-2), None, None
