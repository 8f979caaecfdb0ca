"""Differential attention."""

from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnexp.attention.multihead import MultiHead
from attnexp.estimators.base import Compared, Estimator
from attnexp.estimators.local_constant import LocalConstant

SPREAD = 0.1
"""The deviation of the vectors of lambda at the start, as in the paper's code."""


class MapDifference(Estimator):
    """l = w_1 - lambda w_2 of the two maps of each head.

    lambda = exp(u_1.v_1) - exp(u_2.v_2) + `start`, with vectors of the size of a query, which all
    heads share.
    """

    signed: ClassVar[bool] = True
    by_head: ClassVar[bool] = False

    def __init__(
        self, heads: int, query_dim: int, key_dim: int, input_dim: int, start: float
    ) -> None:
        super().__init__(heads, query_dim, key_dim, input_dim)
        self.start = start
        self.vectors = nn.Parameter(SPREAD * torch.randn(2, 2, query_dim))

    @property
    def factor(self) -> Float[Tensor, ""]:
        """lambda"""
        first, second = self.vectors.prod(dim=1).sum(dim=-1).exp().unbind()
        return first - second + self.start

    def forward(
        self, weights: Float[Tensor, "*batch maps queries keys"], compared: Compared
    ) -> Float[Tensor, "*batch heads queries keys"]:
        first, second = weights.unflatten(-3, (self.heads, 2)).unbind(dim=-3)
        return first - self.factor * second


class Differential(MultiHead):
    """Each head is the difference of two maps, w_1 - lambda w_2, which cancels weights of both.

    Ye et al. (2024, arXiv 2410.05258), equations 1 to 3. The maps have half of a head's features
    for their queries and keys, every second pair of them, so that positions that turn pairs reach
    both alike. For lambda see `MapDifference`. A head's answer is divided by its root mean square
    and multiplied by 1 - `start`. The paper's `start` grows with the layer, from .2 to .8; here all
    layers have the same.

    The weights that are returned are the differences, which may be negative. Biases of positions
    are added to both maps.

    Other arguments are those of `MultiHead`. Raises ValueError besides for features of a head that
    are not a multiple of 4, a `start` outside (0, 1), and any estimator but the local constant.
    """

    maps_a_head: ClassVar[int] = 2

    def __init__(self, *args: Any, start: float = 0.8, **settings: Any) -> None:
        super().__init__(*args, **settings)
        if type(self.estimator) is not LocalConstant:
            raise ValueError(
                "differential attention is itself an estimator, the difference of two maps: choose "
                f"estimator=local_constant, got {type(self.estimator).__name__}"
            )
        if self.head_dim % 4:
            raise ValueError(
                "differential attention needs a multiple of 4 features for a head, got "
                f"{self.head_dim}: choose another dim or heads"
            )
        if not 0 < start < 1:
            raise ValueError(f"start must be greater than 0 and less than 1, got {start}")
        half, self.start = self.head_dim // 2, start
        self.estimator = MapDifference(self.heads, half, half, self.W_k.in_features, start)

    def maps(
        self, split: Float[Tensor, "batch heads length head_dim"]
    ) -> Float[Tensor, "batch maps length half"]:
        pairs = split.unflatten(-1, (-1, 2, 2)).movedim(-2, 2)
        return pairs.flatten(-2).flatten(1, 2)

    def joined(
        self,
        heads: Float[Tensor, "batch heads queries head_dim"],
        queries: Float[Tensor, "batch queries query_dim"],
    ) -> Float[Tensor, "batch queries context_dim"]:
        normed = heads * (heads.square().mean(dim=-1, keepdim=True) + 1e-5).rsqrt()
        return super().joined((1 - self.start) * normed, queries)
