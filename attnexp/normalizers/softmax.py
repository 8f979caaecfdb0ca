"""The softmax."""

from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnexp.normalizers.base import Normalizer


class Softmax(Normalizer):
    """w_i = exp(a_i) / sum_j exp(a_j) over the keys i, j that are left.

    Bridle (1990). Every key that is left has a weight above 0, up to rounding. It is
    the only normalizer that PyTorch's fused attention computes.

    Example:
        >>> softmax = Softmax(heads=1)
        >>> softmax(torch.zeros(1, 4), torch.tensor([2]))
        tensor([[0.5000, 0.5000, 0.0000, 0.0000]])
    """

    sums_to_one: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True
    has_derivative: ClassVar[bool] = True

    def normalize(
        self,
        scores: Float[Tensor, "*batch queries keys"],
        seen: Bool[Tensor, "*batch queries keys"],
    ) -> Float[Tensor, "*batch queries keys"]:
        return scores.softmax(dim=-1)

    def pull_back(
        self,
        weights: Float[Tensor, "*batch queries keys"],
        gradient: Float[Tensor, "*batch queries keys"],
    ) -> Float[Tensor, "*batch queries keys"]:
        return torch._softmax_backward_data(gradient, weights, -1, weights.dtype)
