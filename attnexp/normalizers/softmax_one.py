"""The softmax with one more score, zero."""

from typing import ClassVar

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from attnexp.normalizers.base import Normalizer


class SoftmaxOne(Normalizer):
    """w_i = exp(a_i) / (1 + sum_j exp(a_j)).

    Miller (2023), "Attention is off by one". It is a softmax with one more key, whose score is 0
    and whose value is zero, so the weights of a row sum to less than 1, and almost to 0 if all
    scores are far below 0.

    Example:
        >>> softmax_one = SoftmaxOne(heads=1)
        >>> softmax_one(torch.zeros(1, 3))
        tensor([[0.2500, 0.2500, 0.2500]])
    """

    sums_to_one: ClassVar[bool] = False
    shift_invariant: ClassVar[bool] = False

    def normalize(
        self,
        scores: Float[Tensor, "*batch queries keys"],
        seen: Bool[Tensor, "*batch queries keys"],
    ) -> Float[Tensor, "*batch queries keys"]:
        return F.pad(scores, (0, 1)).softmax(dim=-1)[..., :-1]
