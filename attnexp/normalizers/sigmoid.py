"""The sigmoid."""

from typing import ClassVar

from jaxtyping import Bool, Float
from torch import Tensor

from attnexp.normalizers.base import Normalizer, keys_left


class Sigmoid(Normalizer):
    """w_i = 1 / (1 + exp(-(a_i + b))), each key on its own.

    Ramapuram et al. (2024), section 2. b is `bias`; if `bias` is None, b = -log n, n the number of
    keys that are left in the row. Equal scores of 0 then have weights near 1/n. A row may sum to
    less or more than 1.

    Example:
        >>> sigmoid = Sigmoid(heads=1)
        >>> sigmoid(torch.zeros(1, 3))
        tensor([[0.2500, 0.2500, 0.2500]])
    """

    sums_to_one: ClassVar[bool] = False
    shift_invariant: ClassVar[bool] = False

    def __init__(self, heads: int, bias: float | None = None) -> None:
        super().__init__(heads)
        self.bias = bias

    def normalize(
        self,
        scores: Float[Tensor, "*batch queries keys"],
        seen: Bool[Tensor, "*batch queries keys"],
    ) -> Float[Tensor, "*batch queries keys"]:
        bias = -keys_left(seen, scores.dtype).log() if self.bias is None else self.bias
        return (scores + bias).sigmoid()
