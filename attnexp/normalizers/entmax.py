"""Entmax of any alpha between the softmax and sparsemax, fixed or learned."""

from typing import ClassVar, Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnexp.normalizers.base import Normalizer
from attnexp.normalizers.threshold import Power, entmax

STEPS = 12
"""Steps to a threshold. For 3,000 scores, 8 were enough at each scale and alpha that was tried."""

EXACT: dict[float, Power] = {1.5: 2, 2.0: 1}
"""The alphas of `attnexp.normalizers.threshold`, which takes a tenth of the time."""

LEAST = 1.01
"""The least alpha. There the map is within 1% of the softmax, and its power is 100."""


class Entmax(Normalizer):
    """w_i = max(0, (alpha - 1) a_i - tau)^(1 / (alpha - 1)), with tau such that a row sums to 1.

    Peters, Niculae and Martins (2019): the softmax for alpha -> 1, `Entmax15` for 1.5 and
    `Sparsemax` for 2. With `alpha` "learned" it is 1 + sigmoid(u) with a learned number u for each
    head, as in Correia, Niculae and Martins (2019), "Adaptively Sparse Transformers"; it
    starts at 1.5 and stays at least 1.01. u has the shape (heads, 1, 1), and is one number for one
    head.

    Raises ValueError for an alpha below 1.01 or above 2.

    Example:
        >>> entmax = Entmax(heads=1, alpha=2.0)
        >>> entmax(torch.tensor([[1.0, 0.5, -1.0]]))
        tensor([[0.7500, 0.2500, 0.0000]])
    """

    sums_to_one: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True

    def __init__(self, heads: int, alpha: float | Literal["learned"] = 1.5) -> None:
        super().__init__(heads)
        if alpha == "learned":
            self.u = nn.Parameter(torch.zeros(() if heads == 1 else (heads, 1, 1)))
        elif not LEAST <= alpha <= 2:
            raise ValueError(
                f"alpha of normalizer=entmax must be within {LEAST} to 2, or learned, got {alpha}: "
                "1 is normalizer=softmax"
            )
        self.fixed = None if alpha == "learned" else float(alpha)

    def normalize(
        self,
        scores: Float[Tensor, "*batch queries keys"],
        seen: Bool[Tensor, "*batch queries keys"],
    ) -> Float[Tensor, "*batch queries keys"]:
        if self.fixed in EXACT:
            return entmax(scores, EXACT[self.fixed])
        if self.fixed is not None:
            alpha = scores.new_full((), self.fixed)
        else:
            alpha = (1 + self.u.to(scores.dtype).sigmoid()).clamp(min=LEAST)
        # the largest score is 0 in z, and tau is within -1 to 0: below -1 no key has weight
        z = (alpha - 1) * (scores - scores.amax(dim=-1, keepdim=True)).clamp(min=-1 / (LEAST - 1))
        return thresholded(z, 1 / (alpha - 1))


def thresholded(
    z: Float[Tensor, "*batch keys"], power: Float[Tensor, "*heads"]
) -> Float[Tensor, "*batch keys"]:
    """Return max(0, z_i - tau)^power with tau such that a row sums to 1; the largest z is 0.

    tau is found by Newton's method on the norm |max(0, z - tau)|_power - 1, which is convex, falls
    and is nearly linear; from -1 every step stays left of the root. After the last one, another
    step on sum_i max(0, z_i - tau)^power - 1 has the gradients of the root in z and power, by the
    implicit function theorem.
    """
    with torch.no_grad():
        tau = torch.full_like(z[..., :1], -1.0)
        for _ in range(STEPS):
            height, steep = _heights(z - tau, power)
            total = height.sum(dim=-1, keepdim=True)
            norm = total.pow(1 / power)
            # the derivative of the norm by tau is -norm^(1 - power) sum_i height_i^(1 - 1/power)
            tau = tau + (norm - 1) * norm.pow(power - 1) / steep.sum(dim=-1, keepdim=True)
        _, steep = _heights(z - tau, power)
        slope = power * steep.sum(dim=-1, keepdim=True)
    height, _ = _heights(z - tau, power)
    root = tau + (height.sum(dim=-1, keepdim=True) - 1) / slope
    weights, _ = _heights(z - root, power)
    return weights / weights.detach().sum(dim=-1, keepdim=True)


def _heights(
    gaps: Float[Tensor, "*batch keys"], power: Float[Tensor, "*heads"]
) -> tuple[Float[Tensor, "*batch keys"], Float[Tensor, "*batch keys"]]:
    """Return max(0, gap)^power and max(0, gap)^(power - 1), 0 for gaps of at most 0."""
    above = gaps > 0
    held = gaps.where(above, 1.0)
    return held.pow(power).where(above, 0.0), held.pow(power - 1).where(above, 0.0)
