"""Stick-breaking weights: the last key breaks off its share first."""

from typing import ClassVar

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from attnexp.normalizers.base import Normalizer


class StickBreaking(Normalizer):
    """w_j = s(a_j) prod_{k > j} (1 - s(a_k)) over the keys k that are left, s the sigmoid.

    Tan et al. (2025), "Scaling Stick-breaking Attention", section 2. The last key takes a share of
    a stick of length 1, the one before it a share of the rest, and so on, so that near keys come
    first in causal attention. The rest is on no key: a row sums to 1 - prod_k (1 - s(a_k)).

    In the paper a query sees the positions before its own; here the mask decides, and causal masks
    let it see its own too. Keys have to have an order. For a query that sees keys behind it, as in
    an encoder or across two sequences, the last key of the row still comes first.

    Example:
        >>> stick_breaking = StickBreaking(heads=1)
        >>> stick_breaking(torch.zeros(1, 3))
        tensor([[0.1250, 0.2500, 0.5000]])
    """

    sums_to_one: ClassVar[bool] = False
    shift_invariant: ClassVar[bool] = False
    treats_keys_alike: ClassVar[bool] = False

    def normalize(
        self,
        scores: Float[Tensor, "*batch queries keys"],
        seen: Bool[Tensor, "*batch queries keys"],
    ) -> Float[Tensor, "*batch queries keys"]:
        # a masked key has the lowest score, and so takes nothing
        left = F.logsigmoid(-scores)
        # a sum over the keys behind, not a difference of sums, which would lose digits
        behind = F.pad(left[..., 1:], (0, 1)).flip(-1).cumsum(dim=-1).flip(-1)
        return (F.logsigmoid(scores) + behind).exp()
