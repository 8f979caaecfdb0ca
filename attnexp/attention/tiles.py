"""The scores of a tile of a large map, by a faster formula if the score has one.

A faster formula need not work under `torch.func.vmap`, nor have a second derivative.
"""

from functools import singledispatch
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from attnexp.scores.additive import Additive
from attnexp.scores.base import Score

REACH = 40.0
"""The largest projected query or key whose exponential is used: exp(80) is a float32."""


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
    w_v = score.w_v.weight
    return cast(Tensor, _AdditiveTile.apply(queries, keys, 2 * w_v)) - w_v.sum()


class _AdditiveTile(torch.autograd.Function):
    """u's(q + k) for many queries, s the logistic function, with its derivative written out."""

    @staticmethod
    def forward(
        ctx: Any,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
        u: Float[Tensor, "1 projected"],
    ) -> Float[Tensor, "*batch queries keys"]:
        logistic = logistic_of_sums(queries, keys)
        ctx.save_for_backward(logistic, u)
        return (logistic @ u.mT).squeeze(-1)

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, gradient: Float[Tensor, "*batch queries keys"]
    ) -> tuple[Tensor, Tensor, Tensor]:
        logistic, u = ctx.saved_tensors
        of_u = gradient.reshape(1, -1) @ logistic.flatten(0, -2)
        slope = logistic.addcmul_(logistic, logistic, value=-1)
        of_queries = (gradient.unsqueeze(-2) @ slope).squeeze(-2)
        of_keys = slope.mul_(gradient.unsqueeze(-1)).sum(dim=-3)
        return of_queries.mul_(u), of_keys.mul_(u), of_u


def logistic_of_sums(
    queries: Float[Tensor, "*batch queries projected"],
    keys: Float[Tensor, "*batch keys projected"],
) -> Float[Tensor, "*batch queries keys projected"]:
    """Return s(q + k) = 1 / (1 + exp(-q) exp(-k)) for each pair, s the logistic function.

    Each query and each key takes an exponential, and a pair none. If one of them is beyond `REACH`,
    the sums go through `sigmoid`, and on a GPU all do: the program would wait for the largest.
    """
    on_cpu = queries.device.type == "cpu"
    if not on_cpu or max(queries.abs().amax(), keys.abs().amax()) > REACH:
        return (queries.unsqueeze(-2) + keys.unsqueeze(-3)).sigmoid_()
    decays = (queries.neg().exp_().unsqueeze(-2), keys.neg().exp_().unsqueeze(-3))
    return torch.addcmul(queries.new_ones(()), *decays).reciprocal_()
