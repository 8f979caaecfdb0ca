"""Sinusoidal positions."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnexp.architectures.positions.base import Positions


class Sinusoidal(Positions):
    """x_i + p_i with p_i = (sin(i w_1), cos(i w_1), sin(i w_2), cos(i w_2), ...).

    w_k = 10000^(-2(k-1)/dim) radians per place. Vaswani et al. (2017), section 3.5. No parameters,
    and no longest position. Raises ValueError for an odd dim.
    """

    def __init__(self, dim: int, heads: int, longest: int) -> None:
        super().__init__(dim, heads, longest)
        if dim % 2:
            raise ValueError(f"sinusoidal positions need an even dim, got {dim}")
        self.rates = GeometricRates(dim)

    def add(
        self, x: Float[Tensor, "batch length dim"], places: Int[Tensor, "*examples length"]
    ) -> Float[Tensor, "batch length dim"]:
        angles = places.unsqueeze(-1) * self.rates()
        return x + torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


class GeometricRates(nn.Module):
    """w_k = base^(-2(k-1)/dim), k from 1 to dim/2, in radians per place.

    The rates are computed in the dtype of the module. A buffer of them would keep the rounding of
    float32 when the module becomes float64.
    """

    one: Tensor

    def __init__(self, dim: int, base: float = 10_000.0) -> None:
        super().__init__()
        self.dim = dim
        self.base = base
        self.register_buffer("one", torch.ones(()), persistent=False)

    def forward(self) -> Float[Tensor, " pairs"]:
        """Return the rates, of the dtype and on the device of the module."""
        places = torch.arange(0, self.dim, 2, dtype=self.one.dtype, device=self.one.device)
        return torch.exp(places * (-math.log(self.base) / self.dim))
