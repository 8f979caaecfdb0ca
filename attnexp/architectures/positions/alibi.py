"""Attention with linear biases."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attnexp.architectures.positions.base import Positions


class Alibi(Positions):
    """a(q_i, k_j) - m_h |i - j|, with a slope m_h for each head h.

    Press, Smith and Lewis (2022), section 3. For a power of two n of heads, m_h = 2^(-8h/n), h from
    1 to n. For other numbers of heads, as in the paper's code, the slopes of the largest power of
    two below come first, then every second slope of twice that power. No parameters, and no longest
    position.

    The paper's attention is causal, so that i - j is never negative; an encoder takes the distance
    in both directions. The bias is added to any score, before it is normalized: a kernel is
    multiplied by exp(-m_h |i - j|). A score on another scale than the scaled dot product has, in
    effect, another slope.
    """

    slopes: Tensor

    def __init__(self, dim: int, heads: int, longest: int) -> None:
        super().__init__(dim, heads, longest)
        self.register_buffer("slopes", torch.tensor(slopes_of(heads)), persistent=False)

    def bias(
        self, queries: Int[Tensor, "*examples queries"], keys: Int[Tensor, "*examples keys"]
    ) -> Float[Tensor, "*examples heads queries keys"]:
        distance = (queries.unsqueeze(-1) - keys.unsqueeze(-2)).abs()
        return -self.slopes[:, None, None] * distance.unsqueeze(-3)


def slopes_of(heads: int) -> list[float]:
    """Return the slope of each head."""
    power = 2 ** int(math.log2(heads))
    between = _geometric(2 * power)[::2] if power < heads else []
    return _geometric(power) + between[: heads - power]


def _geometric(heads: int) -> list[float]:
    return [2 ** (-8 * head / heads) for head in range(1, heads + 1)]
