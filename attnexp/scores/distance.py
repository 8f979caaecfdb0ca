"""The distance that the kernels measure."""

import torch
from jaxtyping import Float
from torch import Tensor


def squared_distance(
    queries: Float[Tensor, "*batch queries dim"], keys: Float[Tensor, "*batch keys dim"]
) -> Float[Tensor, "*batch queries keys"]:
    r"""\|q - k\|^2 / d for every pair.

    The textbook's kernels live on the line, where d = 1 and this is (q - k)^2. In d dimensions the
    squared distance of random vectors grows like d, so it is divided by d: a width that is usable
    on scalars stays usable on hidden states.
    """
    difference = queries.unsqueeze(-2) - keys.unsqueeze(-3)
    return difference.square().mean(dim=-1)


def distance(
    queries: Float[Tensor, "*batch queries dim"], keys: Float[Tensor, "*batch keys dim"]
) -> Float[Tensor, "*batch queries keys"]:
    r"""\|q - k\| / sqrt(d) for every pair, with gradient zero where the two are equal."""
    squared = squared_distance(queries, keys)
    apart = squared > 0
    return torch.where(apart, squared, 1.0).sqrt().where(apart, 0.0)
