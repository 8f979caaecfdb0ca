"""Entmax whose scores grow with the number of keys, by learned numbers in each head."""

from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnexp.normalizers.base import keys_left
from attnexp.normalizers.entmax import Entmax
from attnexp.scores.base import require_positive


class Asentmax(Entmax):
    """w = entmax((delta + beta (log n)^gamma) a), n the number of keys that are left, see `Entmax`.

    Adaptive-scalable entmax, Vasylenko et al. (2025, arXiv 2506.16640). beta = softplus(b) and
    gamma = s tanh(g), with s the `largest_power`, so that the factor may grow or fall with log n;
    delta is fixed. In the paper b and g are learned projections of each query, as in the score
    `AdaptiveScale`. A normalizer sees the scores alone, so here b and g are learned numbers, one of
    each for each head. They start at 0, and the factor at delta + log 2, whatever n is. They have
    the shape (heads, 1, 1), and are one number for one head. A row with one key has the weight 1.

    Raises ValueError for a negative delta, a largest_power of 0 or below, and as `Entmax`.

    Example:
        >>> asentmax = Asentmax(heads=1, alpha=2.0, delta=0.0)
        >>> asentmax(torch.tensor([[2.0, 0.0, 0.0]])).detach()
        tensor([[1., 0., 0.]])
    """

    sums_to_one: ClassVar[bool] = True
    shift_invariant: ClassVar[bool] = True

    def __init__(
        self,
        heads: int,
        alpha: float | Literal["learned"] = 1.5,
        delta: float = 1.0,
        largest_power: float = 1.0,
    ) -> None:
        super().__init__(heads, alpha)
        if not delta >= 0:
            raise ValueError(f"delta of normalizer=asentmax must be 0 or more, got {delta}")
        require_positive("largest_power of normalizer=asentmax", largest_power)
        self.delta = delta
        self.largest_power = largest_power
        shape = () if heads == 1 else (heads, 1, 1)
        self.b = nn.Parameter(torch.zeros(shape))
        self.g = nn.Parameter(torch.zeros(shape))

    def normalize(
        self,
        scores: Float[Tensor, "*batch queries keys"],
        seen: Bool[Tensor, "*batch queries keys"],
    ) -> Float[Tensor, "*batch queries keys"]:
        # a single key has weight 1 by any factor, and a power of log 1 = 0 has no gradient
        length = keys_left(seen, scores.dtype).clamp(min=2).log()
        gamma = self.largest_power * self.g.to(scores.dtype).tanh()
        factor = self.delta + F.softplus(self.b.to(scores.dtype)) * length.pow(gamma)
        lowest = torch.finfo(scores.dtype).min
        scaled = (factor * scores.where(seen, 0.0)).clamp(min=lowest / 2, max=-lowest / 2)
        return super().normalize(scaled.where(seen, lowest), seen)
