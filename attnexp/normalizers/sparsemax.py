"""Sparsemax."""

from typing import ClassVar

from jaxtyping import Bool, Float
from torch import Tensor

from attnexp.normalizers.base import Normalizer
from attnexp.normalizers.threshold import entmax


class Sparsemax(Normalizer):
    """w_i = max(0, a_i - tau), with tau such that the weights of a row sum to 1.

    Martins and Astudillo (2016), proposition 1: the Euclidean projection of the scores onto the
    weights that sum to 1. Keys whose score is at least 1 below the largest have weight zero, and so
    may others.

    With a = -(w |q - k|)^2 / 2 it is Nadaraya-Watson regression with the parabola kernel, the
    Epanechnikov kernel of statistics, whose width each query sets through tau.

    Example:
        >>> sparsemax = Sparsemax(heads=1)
        >>> sparsemax(torch.tensor([[0.5, 0.0, -1.0]]))
        tensor([[0.7500, 0.2500, 0.0000]])
    """

    sums_to_one: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True

    def normalize(
        self,
        scores: Float[Tensor, "*batch queries keys"],
        seen: Bool[Tensor, "*batch queries keys"],
    ) -> Float[Tensor, "*batch queries keys"]:
        return entmax(scores, power=1)
