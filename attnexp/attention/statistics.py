"""Statistics of an attention map."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

ROUNDING = 1e-5
"""A sum of weights within this distance of 1 counts as 1."""


def shares(weights: Float[Tensor, "*batch keys"]) -> Float[Tensor, "*batch keys"]:
    """Return each row over its sum. A row that sums to 1, and a row of zeros, stay as they are."""
    sums = weights.sum(dim=-1, keepdim=True)
    kept = ((sums - 1).abs() <= ROUNDING) | (sums == 0)
    return weights.where(kept, weights / sums)


def entropy(weights: Float[Tensor, "*batch keys"]) -> Float[Tensor, "*batch"]:
    """Return H = -sum_i p_i log p_i of each row, in nats, with p_i = w_i / sum_j w_j, 0 log 0 = 0.

    A uniform row over n keys has log n, whatever its sum; a row with a single key and a row of
    zeros have 0.
    """
    p = shares(weights)
    return -torch.xlogy(p, p).sum(dim=-1)


def support(weights: Float[Tensor, "*batch keys"]) -> Float[Tensor, "*batch"]:
    """Return the number of keys of each row whose weight is above 0."""
    return (weights > 0).sum(dim=-1).to(weights.dtype)


def sink_mass(weights: Float[Tensor, "*batch keys"]) -> Float[Tensor, "*batch"]:
    """Return 1 - sum_i w_i of each row, and exactly 0 for a row that sums to 1.

    It is the weight on no key: negative if the weights of a row sum to more than 1.
    """
    missing = 1 - weights.sum(dim=-1)
    return missing.where(missing.abs() > ROUNDING, 0.0)


def negative_mass(weights: Float[Tensor, "*batch keys"]) -> Float[Tensor, "*batch"]:
    """Return -sum_i min(w_i, 0) of each row, the size of its negative weights."""
    return weights.clamp(max=0).sum(dim=-1).neg()


def is_uniform(
    weights: Float[Tensor, "*batch queries keys"],
    mask: Bool[Tensor, "*batch queries keys"],
    tolerance: float = 0.05,
) -> bool:
    """Return whether every weight is 1/n within a relative `tolerance`, n the allowed keys."""
    keys = mask.sum(dim=-1, keepdim=True)
    return bool(((weights * keys - 1).abs() <= tolerance).logical_or(~mask).all())
