"""Sinusoidal positions."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnexp.architectures.positions.base import Positions


class Sinusoidal(Positions):
    """x_i + p_i with p_i = (sin(i w_1), cos(i w_1), sin(i w_2), cos(i w_2), ...).

    w_k = 10000^(-2(k-1)/dim) radians a place. Vaswani et al. (2017), section 3.5. No parameters,
    and no longest position. Raises ValueError for an odd dim.
    """

    rates: Tensor

    def __init__(self, dim: int, heads: int, longest: int) -> None:
        super().__init__(dim, heads, longest)
        if dim % 2:
            raise ValueError(f"sinusoidal positions need an even dim, got {dim}")
        self.register_buffer("rates", geometric_rates(dim), persistent=False)

    def add(
        self, x: Float[Tensor, "batch length dim"], places: Int[Tensor, "*examples length"]
    ) -> Float[Tensor, "batch length dim"]:
        angles = places.unsqueeze(-1) * self.rates
        return x + torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


def geometric_rates(dim: int) -> Float[Tensor, " pairs"]:
    """Return w_k = 10000^(-2(k-1)/dim), k from 1 to dim/2, in radians a place."""
    return torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
