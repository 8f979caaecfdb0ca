"""Learned vectors by distance, added to the keys."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attnexp.architectures.positions.base import Positions
from attnexp.attention.multihead import BiasOfQueries

CLIP = 16
"""The distance from which all distances in one direction share one vector."""


class Shaw(Positions):
    """a(q_i, k_j) + q_i.r_h[clip(j - i)] / sqrt(head_dim), with learned vectors r_h of each head h.

    Shaw, Uszkoreit and Vaswani (2018), "Self-Attention with Relative Position Representations",
    equation 4, with distances clipped to within -16 and 16 as in section 3.2, and q_i = W_q x_i the
    query of a head. With the scaled dot product the score is q_i.(k_j + r_h[clip(j - i)]) /
    sqrt(head_dim), as in the paper. Other scores have the same term added.

    The paper's vectors for the values, equation 3, are left out: its section 4.3 finds that those
    for the keys may suffice. Its layers have vectors of their own; here the layers of a stack share
    them. They are from N(0, 1/head_dim) at the start. No longest position.
    """

    def __init__(self, dim: int, heads: int, longest: int) -> None:
        super().__init__(dim, heads, longest)
        head_dim = dim // heads
        self.vectors = nn.Parameter(torch.empty(heads, 2 * CLIP + 1, head_dim))
        nn.init.normal_(self.vectors, std=head_dim**-0.5)

    def bias(
        self, queries: Int[Tensor, "*examples queries"], keys: Int[Tensor, "*examples keys"]
    ) -> BiasOfQueries:
        distance = keys.unsqueeze(-2) - queries.unsqueeze(-1)
        row = distance.clamp(-CLIP, CLIP).unsqueeze(-3) + CLIP

        def of_queries(
            x: Float[Tensor, "batch heads queries head_dim"],
        ) -> Float[Tensor, "batch heads queries keys"]:
            products = x @ self.vectors.mT * x.shape[-1] ** -0.5
            return products.gather(-1, row.expand(*products.shape[:-1], -1))

        return of_queries
