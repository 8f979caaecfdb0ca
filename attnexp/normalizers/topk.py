"""The softmax over the largest scores."""

from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnexp.normalizers.base import Normalizer


class TopK(Normalizer):
    """w = softmax over the k largest scores of a row; the other keys have weight zero.

    Zhao et al. (2019), "Explicit sparse transformer". Keys with the same score as the k-th largest
    all keep their weight, so that the order of the keys does not matter: more than k keys then have
    a weight above 0. A row with at most k keys has the plain softmax.

    Raises ValueError for a k below 1.

    Example:
        >>> top2 = TopK(heads=1, k=2)
        >>> top2(torch.tensor([[1.0, 3.0, 3.0, 2.0]]))
        tensor([[0.0000, 0.5000, 0.5000, 0.0000]])
    """

    sums_to_one: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True

    def __init__(self, heads: int, k: int) -> None:
        super().__init__(heads)
        if k < 1:
            raise ValueError(f"k of normalizer=topk must be at least 1, got {k}")
        self.k = k

    def normalize(
        self,
        scores: Float[Tensor, "*batch queries keys"],
        seen: Bool[Tensor, "*batch queries keys"],
    ) -> Float[Tensor, "*batch queries keys"]:
        kth = scores.topk(min(self.k, scores.shape[-1]), dim=-1).values[..., -1:]
        lowest = torch.finfo(scores.dtype).min
        return scores.masked_fill(scores < kth, lowest).softmax(dim=-1)
