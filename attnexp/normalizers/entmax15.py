"""Entmax with alpha = 1.5."""

from typing import ClassVar

from jaxtyping import Bool, Float
from torch import Tensor

from attnexp.normalizers.base import Normalizer
from attnexp.normalizers.threshold import entmax


class Entmax15(Normalizer):
    """w_i = max(0, a_i / 2 - tau)^2, with tau such that the weights of a row sum to 1.

    Peters, Niculae and Martins (2019), with alpha = 1.5, halfway between the softmax (1) and
    sparsemax (2). It is sparse, and a weight goes to zero smoothly. Keys whose score is at least 2
    below the largest have weight zero, and so may others.

    Example:
        >>> entmax15 = Entmax15(heads=1)
        >>> entmax15(torch.tensor([[2.0, 2.0, 0.0]]))
        tensor([[0.5000, 0.5000, 0.0000]])
    """

    sums_to_one: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True

    def normalize(
        self,
        scores: Float[Tensor, "*batch queries keys"],
        seen: Bool[Tensor, "*batch queries keys"],
    ) -> Float[Tensor, "*batch queries keys"]:
        return entmax(scores, power=2)
