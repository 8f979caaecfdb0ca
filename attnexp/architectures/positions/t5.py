"""Learned biases by distance."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnexp.architectures.positions.base import Positions

BUCKETS = 32
"""Buckets of distances: half of them for keys up to the query, half for those behind it."""

FARTHEST = 128
"""The distance from which all distances share one bucket."""


class T5(Positions):
    """a(q_i, k_j) + b_h[bucket(i - j)], with learned numbers b_h for each head h.

    Raffel et al. (2020), "Exploring the Limits of Transfer Learning", section 2.1, with 32 buckets.
    Keys up to the query have 16 of them, and keys behind it the others: one each for the distances
    0 to 7, and eight for those up to 128, whose ends grow as a geometric series. The layers of a
    stack share the numbers, as in the paper. They are from N(0, 1/dim) at the start. No longest
    position.

    These are the buckets of the paper's encoder. Its decoder, which sees no keys behind the query,
    has all 32 buckets for the past; here a causal stack has 16 of them.
    """

    def __init__(self, dim: int, heads: int, longest: int) -> None:
        super().__init__(dim, heads, longest)
        self.biases = nn.Parameter(torch.empty(heads, BUCKETS))
        nn.init.normal_(self.biases, std=dim**-0.5)

    def bias(
        self, queries: Int[Tensor, "*examples queries"], keys: Int[Tensor, "*examples keys"]
    ) -> Float[Tensor, "*examples heads queries keys"]:
        buckets = bucket_of(queries.unsqueeze(-1) - keys.unsqueeze(-2))
        return self.biases[:, buckets].movedim(0, -3)


def bucket_of(distance: Int[Tensor, "*any"]) -> Int[Tensor, "*any"]:
    """Return the bucket of i - j, which is negative for keys behind the query."""
    half, exact = BUCKETS // 2, BUCKETS // 4
    far = distance.abs().clamp(min=1)
    growth = (far / exact).log() / math.log(FARTHEST / exact) * (half - exact)
    coarse = (exact + growth.long()).clamp(max=half - 1)
    return distance.abs().where(distance.abs() < exact, coarse) + half * (distance < 0)
