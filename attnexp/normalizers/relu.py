"""The rectifier over the number of keys."""

from typing import ClassVar

from jaxtyping import Bool, Float
from torch import Tensor

from attnexp.normalizers.base import Normalizer, keys_left


class Relu(Normalizer):
    """w_i = max(0, a_i) / n, with n the number of keys that are left in the row.

    Wortsman et al. (2023), "Replacing softmax with ReLU in vision transformers". A row whose scores
    are all 0 or below has weights zero and gradient zero; any other row may sum to any positive
    number. A division by the sum of the row would have unbounded gradients near such a row. A
    kernel of at most 1, whose logarithm is at most 0, gives no key a weight.

    Example:
        >>> relu = Relu(heads=1)
        >>> relu(torch.tensor([[2.0, 1.0, -1.0, 0.0]]))
        tensor([[0.5000, 0.2500, 0.0000, 0.0000]])
    """

    sums_to_one: ClassVar[bool] = False
    shift_invariant: ClassVar[bool] = False

    def normalize(
        self,
        scores: Float[Tensor, "*batch queries keys"],
        seen: Bool[Tensor, "*batch queries keys"],
    ) -> Float[Tensor, "*batch queries keys"]:
        return scores.relu() / keys_left(seen, scores.dtype)
