"""Rotary positions."""

from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnexp.architectures.positions.base import Positions
from attnexp.architectures.positions.sinusoidal import GeometricRates
from attnexp.attention.multihead import Turn
from attnexp.scores.base import require_positive


class Rotary(Positions):
    """R_i q and R_i k, where R_i turns the k-th pair of features by the angle i w_k / scale.

    (x_{2k-1}, x_{2k}) becomes (x_{2k-1} cos - x_{2k} sin, x_{2k-1} sin + x_{2k} cos) of this angle,
    with w_k = base^(-2(k-1)/head_dim) radians per place. Su et al. (2021), equations 14, 15 and 34,
    with `base` 10000 and `scale` 1. No parameters, and no longest position.

    For sequences s times as long as in training, a `scale` of s makes their places those of
    training: position interpolation, Chen et al. (2023, arXiv 2306.15595). A `base` of
    10000 s^(head_dim/(head_dim-2)) slows the slowest pair by s and leaves the fastest as it is:
    NTK-aware scaling, in Peng et al. (2023, arXiv 2309.00071), section 3.1.

    The projections W_q x and W_k x of each head are turned, before the score does anything to them,
    whatever the score. (R_i q).(R_j k) = q.(R_{j-i} k) and turning changes no length. So a score
    that is a function of q.k, |q| and |k|, as products, cosine and the kernels are, depends on the
    places through j - i alone. A score with weights of its own, additive or bilinear, depends on
    both places.

    Raises ValueError for an odd number of features per head, and unless `base` and `scale` are
    above 0.
    """

    def __init__(
        self, dim: int, heads: int, longest: int, base: float = 10_000.0, scale: float = 1.0
    ) -> None:
        super().__init__(dim, heads, longest)
        head_dim = dim // heads
        if head_dim % 2:
            raise ValueError(
                f"rotary positions need an even number of features a head, got {head_dim} (dim "
                f"{dim}, heads {heads}): choose another dim or heads, or other positions"
            )
        require_positive("base", base)
        require_positive("scale", scale)
        self.rates = GeometricRates(head_dim, base)
        self.scale = scale

    def turn(self, places: Int[Tensor, "*examples length"]) -> Turn:
        angles = (places.unsqueeze(-1) * (self.rates() / self.scale)).unsqueeze(-3)
        cos, sin = angles.cos(), angles.sin()
        return partial(
            rotate,
            cos=torch.stack([cos, cos], dim=-1).flatten(-2),
            sin=torch.stack([-sin, sin], dim=-1).flatten(-2),
        )


def rotate(
    x: Float[Tensor, "batch heads length head_dim"],
    cos: Float[Tensor, "*batch 1 length head_dim"],
    sin: Float[Tensor, "*batch 1 length head_dim"],
) -> Float[Tensor, "batch heads length head_dim"]:
    """Return x cos + x' sin, where x' has the two features of each pair exchanged."""
    exchanged = x.unflatten(-1, (-1, 2)).roll(1, dims=-1).flatten(-2)
    return x * cos + exchanged * sin
