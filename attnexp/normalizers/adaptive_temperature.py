"""The softmax whose temperature falls with the entropy of its weights."""

from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnexp.normalizers.base import Normalizer

POLYNOMIAL = (-0.037, 0.481, -2.3, 4.917, -1.791)
"""The coefficients of the inverse temperature in the entropy, the highest power first."""

LOWEST_ENTROPY = 0.5
"""The entropy, in nats, up to which a row has the plain softmax."""


class AdaptiveTemperature(Normalizer):
    """w = softmax(b(H) a), H the entropy of softmax(a) in nats, b a polynomial that is at least 1.

    Veličković et al. (2025), "Softmax is not enough (for Sharp Size Generalisation)":

        b(H) = max(1, -0.037 H^4 + 0.481 H^3 - 2.3 H^2 + 4.917 H - 1.791)    if H > 0.5,

    and 1 otherwise. The paper fitted b to its own task, the largest of a set, and uses it in a
    model that was trained with the softmax; here it is used in training, too. Beyond H = 5.94 the
    polynomial is below 1, so that a uniform row of more than 381 keys has the plain softmax.

    Example:
        >>> adaptive_temperature = AdaptiveTemperature(heads=1)
        >>> adaptive_temperature(torch.tensor([[2.0, 0.0, 0.0, 0.0]]))
        tensor([[0.7619, 0.0794, 0.0794, 0.0794]])
    """

    sums_to_one: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True

    def normalize(
        self,
        scores: Float[Tensor, "*batch queries keys"],
        seen: Bool[Tensor, "*batch queries keys"],
    ) -> Float[Tensor, "*batch queries keys"]:
        p, logs = scores.softmax(dim=-1), scores.log_softmax(dim=-1)
        nats = -(p * logs.where(p > 0, 0.0)).sum(dim=-1, keepdim=True)
        inverse = torch.zeros_like(nats)
        for coefficient in POLYNOMIAL:
            inverse = inverse * nats + coefficient
        inverse = inverse.clamp(min=1.0).where(nats > LOWEST_ENTROPY, 1.0)
        lowest = torch.finfo(scores.dtype).min
        # relative to the largest score, so that no product overflows
        gaps = (scores - scores.amax(dim=-1, keepdim=True)).clamp(min=lowest / 8)
        return (inverse * gaps.where(seen, 0.0)).where(seen, lowest).softmax(dim=-1)
