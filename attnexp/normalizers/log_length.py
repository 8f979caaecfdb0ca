"""The softmax whose scores grow with the number of keys."""

from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnexp.normalizers.base import Normalizer, keys_left
from attnexp.scores.base import require_positive


class LogLength(Normalizer):
    """w = softmax(s log(n) a), with n the number of keys that are left in the row.

    Chiang and Cholak (2022), "log-length scaled attention", with s = 1: without log n the largest
    weight falls as the row gets longer, however far the largest score is above the others. `scale`
    is s, a fixed number. A row with one key has the weight 1.

    Raises ValueError for a scale of 0 or below.

    Example:
        >>> log_length = LogLength(heads=1)
        >>> log_length(torch.tensor([[1.0, 0.0]]))
        tensor([[0.6667, 0.3333]])
    """

    sums_to_one: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True

    def __init__(self, heads: int, scale: float = 1.0) -> None:
        super().__init__(heads)
        require_positive("scale of normalizer=log_length", scale)
        self.scale = scale

    def normalize(
        self,
        scores: Float[Tensor, "*batch queries keys"],
        seen: Bool[Tensor, "*batch queries keys"],
    ) -> Float[Tensor, "*batch queries keys"]:
        scaled = self.scale * keys_left(seen, scores.dtype).log() * scores
        # with one key left log n is 0, and the scaled scores of the others are no longer low
        lowest = torch.finfo(scores.dtype).min
        return scaled.clamp(min=lowest / 2, max=-lowest / 2).where(seen, lowest).softmax(dim=-1)
