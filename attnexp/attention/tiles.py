"""The scores of a tile of a large map, with a derivative written out if the score has one.

A derivative written out need not work under `torch.func.vmap`, nor have a second derivative.
"""

from functools import singledispatch
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from attnexp.scores.additive import Additive
from attnexp.scores.base import Score


@singledispatch
def compare_tile(
    score: Score,
    queries: Float[Tensor, "*batch queries projected"],
    keys: Float[Tensor, "*batch keys projected"],
) -> Float[Tensor, "*batch queries keys"]:
    """Return `score.compare(queries, keys)` for projected queries and keys."""
    return score.compare(queries, keys)


@compare_tile.register
def _of_additive(
    score: Additive,
    queries: Float[Tensor, "*batch queries projected"],
    keys: Float[Tensor, "*batch keys projected"],
) -> Float[Tensor, "*batch queries keys"]:
    if type(score) is not Additive:  # a subclass may have another formula
        return score.compare(queries, keys)
    return cast(Tensor, _AdditiveTile.apply(queries, keys, score.w_v.weight))


class _AdditiveTile(torch.autograd.Function):
    """w_v' tanh(q + k) for many queries, with its derivative written out."""

    @staticmethod
    def forward(
        ctx: Any,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
        w_v: Float[Tensor, "1 projected"],
    ) -> Float[Tensor, "*batch queries keys"]:
        tanh = (queries.unsqueeze(-2) + keys.unsqueeze(-3)).tanh_()
        ctx.save_for_backward(tanh, w_v)
        return (tanh @ w_v.mT).squeeze(-1)

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, gradient: Float[Tensor, "*batch queries keys"]
    ) -> tuple[Tensor, Tensor, Tensor]:
        tanh, w_v = ctx.saved_tensors
        of_w_v = gradient.reshape(1, -1) @ tanh.flatten(0, -2)
        slope = torch.addcmul(tanh.new_ones(()), tanh, tanh, value=-1, out=tanh)
        of_queries = (gradient.unsqueeze(-2) @ slope).squeeze(-2)
        of_keys = slope.mul_(gradient.unsqueeze(-1)).sum(dim=-3)
        return of_queries.mul_(w_v), of_keys.mul_(w_v), of_w_v
