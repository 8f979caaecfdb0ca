"""The softmax whose scores grow with the number of keys, by a learned factor in each head."""

from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnexp.normalizers.base import Normalizer, keys_left
from attnexp.scores.base import require_positive


class Ssmax(Normalizer):
    """w = softmax(s log(n) a), n the number of keys that are left, with a learned s for each head.

    Scalable softmax, Nakanishi (2025, arXiv 2501.19399). With a fixed s it is `LogLength`. s starts
    at `initial_scale`; at 1 / log n for the n of training the map is the softmax. s has the shape
    (heads, 1, 1), and is one number for one head. A row with one key has the weight 1.

    Raises ValueError for an initial_scale of 0 or below.

    Example:
        >>> ssmax = Ssmax(heads=1)
        >>> ssmax(torch.tensor([[1.0, 0.0]])).detach()
        tensor([[0.6667, 0.3333]])
    """

    sums_to_one: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True

    def __init__(self, heads: int, initial_scale: float = 1.0) -> None:
        super().__init__(heads)
        require_positive("initial_scale of normalizer=ssmax", initial_scale)
        shape = () if heads == 1 else (heads, 1, 1)
        self.s = nn.Parameter(torch.full(shape, initial_scale))

    def normalize(
        self,
        scores: Float[Tensor, "*batch queries keys"],
        seen: Bool[Tensor, "*batch queries keys"],
    ) -> Float[Tensor, "*batch queries keys"]:
        factor = self.s.to(scores.dtype) * keys_left(seen, scores.dtype).log()
        lowest = torch.finfo(scores.dtype).min
        # scores of keys that are not seen have no part in the gradient of s
        scaled = (factor * scores.where(seen, 0.0)).clamp(min=lowest / 2, max=-lowest / 2)
        return scaled.where(seen, lowest).softmax(dim=-1)
