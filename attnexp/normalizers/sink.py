"""The softmax with a learned sink in each head."""

from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnexp.normalizers.base import Normalizer


class Sink(Normalizer):
    """w_i = exp(a_i) / (exp(s) + sum_j exp(a_j)) with a learned score s for each head.

    OpenAI (2025), gpt-oss model card, after Miller (2023). It is a softmax with one more key, whose
    value is zero, so the weights of a row sum to less than 1. s starts at 0; the map is then
    `SoftmaxOne`. s has the shape (heads, 1, 1), and is one number for one head.

    Example:
        >>> sink = Sink(heads=1)
        >>> sink(torch.zeros(1, 3)).detach()
        tensor([[0.2500, 0.2500, 0.2500]])
    """

    sums_to_one: ClassVar[bool] = False
    shift_invariant: ClassVar[bool] = False

    def __init__(self, heads: int) -> None:
        super().__init__(heads)
        self.s = nn.Parameter(torch.zeros(() if heads == 1 else (heads, 1, 1)))

    def normalize(
        self,
        scores: Float[Tensor, "*batch queries keys"],
        seen: Bool[Tensor, "*batch queries keys"],
    ) -> Float[Tensor, "*batch queries keys"]:
        s = self.s.to(scores.dtype).expand_as(scores[..., :1])
        return torch.cat([scores, s], dim=-1).softmax(dim=-1)[..., :-1]
