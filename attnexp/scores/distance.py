"""The distance between queries and keys that the kernels use."""

from typing import TypeGuard

import torch
from jaxtyping import Float
from torch import Tensor, nn

Width = float | Float[Tensor, ""] | Float[Tensor, " dim"]
"""The width of a kernel: one number, or one for each dimension."""


def learned_width(dim: int, initial_width: float | None, per_dimension: bool) -> nn.Parameter:
    """Return a width, or one for each of `dim` dimensions, from U(0, 1) or at `initial_width`."""
    shape = (dim,) if per_dimension else ()
    start = torch.rand(shape) if initial_width is None else torch.full(shape, float(initial_width))
    return nn.Parameter(start)


def is_diagonal(width: Width) -> TypeGuard[Float[Tensor, " dim"]]:
    """Return whether there is a width for each dimension."""
    return isinstance(width, Tensor) and width.dim() == 1


def squared_distance(
    queries: Float[Tensor, "*batch queries dim"], keys: Float[Tensor, "*batch keys dim"]
) -> Float[Tensor, "*batch queries keys"]:
    r"""Return \|q - k\|^2 / d for every pair.

    The textbook defines its kernels for scalars, where d = 1 and this is (q - k)^2. In d dimensions
    the squared distance between random vectors grows in proportion to d. Dividing by d makes a
    width that suits scalars suit hidden states too.
    """
    difference = queries.unsqueeze(-2) - keys.unsqueeze(-3)
    squared = difference.square()
    # the mean of one number takes longer than everything else that is done to it
    return squared.squeeze(-1) if squared.shape[-1] == 1 else squared.mean(dim=-1)


def distance(
    queries: Float[Tensor, "*batch queries dim"], keys: Float[Tensor, "*batch keys dim"]
) -> Float[Tensor, "*batch queries keys"]:
    r"""Return \|q - k\| / sqrt(d) for every pair, with gradient zero where the two are equal."""
    squared = squared_distance(queries, keys)
    apart = squared > 0
    return torch.where(apart, squared, 1.0).sqrt().where(apart, 0.0)


def distance_in_widths(
    queries: Float[Tensor, "*batch queries dim"],
    keys: Float[Tensor, "*batch keys dim"],
    width: Width,
) -> Float[Tensor, "*batch queries keys"]:
    r"""Return \|w (q - k)\| / sqrt(d) for every pair, w a number or one for each dimension."""
    if is_diagonal(width):
        return distance(width * queries, width * keys)
    return (width * distance(queries, keys)).abs()
