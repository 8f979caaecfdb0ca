"""The softmax, and the same as a function."""

from typing import ClassVar

from jaxtyping import Bool, Float
from torch import Tensor

from attnexp.core.masks import MaskMatrix, ValidLens
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

    def normalize(
        self,
        scores: Float[Tensor, "*batch queries keys"],
        seen: Bool[Tensor, "*batch queries keys"],
    ) -> Float[Tensor, "*batch queries keys"]:
        return scores.softmax(dim=-1)


def masked_softmax(
    scores: Float[Tensor, "*batch queries keys"],
    valid_lens: ValidLens | MaskMatrix | None = None,
) -> Float[Tensor, "*batch queries keys"]:
    """Return w_i = exp(a_i) / sum_j exp(a_j) over the keys that are valid, and 0 for all others.

    Zhang et al., Dive into Deep Learning, "Attention Scoring Functions". `valid_lens` says how many
    of the first keys are valid: whole numbers of shape (batch,), one per sequence, or (batch,
    queries), one per query. A boolean mask is true for a valid key, and None means all keys. A
    query without a valid key has weights of zero.

    Raises ValueError for lengths out of range or of a shape that does not fit, and for a mask of 0
    and 1 for each key, which is not boolean.

    Example:
        >>> masked_softmax(torch.zeros(2, 2, 4), torch.tensor([[1, 3], [2, 4]]))
        tensor([[[1.0000, 0.0000, 0.0000, 0.0000],
                 [0.3333, 0.3333, 0.3333, 0.0000]],
        <BLANKLINE>
                [[0.5000, 0.5000, 0.0000, 0.0000],
                 [0.2500, 0.2500, 0.2500, 0.2500]]])
    """
    return Softmax(heads=1)(scores, valid_lens)
