"""Statistics of an attention map."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def entropy(weights: Float[Tensor, "*batch keys"]) -> Float[Tensor, "*batch"]:
    """Return H = -sum_i w_i log w_i of each row, in nats, with 0 log 0 = 0.

    A uniform row over n keys has log n; a row with a single key and a row of zeros have 0.
    """
    return -torch.xlogy(weights, weights).sum(dim=-1)


def is_uniform(
    weights: Float[Tensor, "*batch queries keys"],
    mask: Bool[Tensor, "*batch queries keys"],
    tolerance: float = 0.05,
) -> bool:
    """Return whether every weight is 1/n within a relative `tolerance`, n the keys it may go to."""
    keys = mask.sum(dim=-1, keepdim=True)
    return bool(((weights * keys - 1).abs() <= tolerance).logical_or(~mask).all())
