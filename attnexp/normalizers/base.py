"""The contract of a normalizer."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnexp.core.masks import MaskMatrix, ValidLens, fitting_mask


class Normalizer(nn.Module, ABC):
    """Maps the scores of each query to weights, one for each key.

    A subclass implements the formula in `normalize`. The rest is the same for all: a key that is
    masked, or has the score minus infinity, has weight zero and its score gets no gradient. So a
    row with no key left has weights zero and gradient zero, not NaN. A subclass never returns a
    negative weight for a key that is left, and has finite gradients. It treats all keys alike,
    unless it declares that it does not: then their order is that of the sequence.

    The surrounding attention sets `heads`: the scores have that many heads at axis -3 if there are
    several, and may lack the axis if there is one. All other arguments of a subclass are
    hyperparameters and come from its YAML file. The docstring of a subclass ends in an example of
    three lines, which the tests run.
    """

    sums_to_one: ClassVar[bool]
    """Whether the weights of every row with a key left sum to 1."""

    shift_invariant: ClassVar[bool]
    """Whether adding a number to all scores of a row leaves its weights unchanged."""

    treats_keys_alike: ClassVar[bool] = True
    """Whether keys in another order have the same weights, in that order."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.heads = heads

    def forward(
        self,
        scores: Float[Tensor, "*batch queries keys"],
        mask: MaskMatrix | ValidLens | None = None,
    ) -> Float[Tensor, "*batch queries keys"]:
        """Return the weights of the keys that the mask allows, and zero for all others.

        `mask` is None (all keys), boolean and broadcastable to the scores (true for a key that may
        be attended to), or whole numbers: `valid_lens` of shape (batch,), one length per sequence,
        or (batch, queries), one per query. Axes of the scores between batch and queries, such as
        heads, share the lengths. For scores (queries, keys), lengths (queries,) are one per query.

        Weights are float32 at least, because weights in half precision would not sum to 1.

        Raises ValueError for valid_lens out of range or of a shape that does not fit, and for a
        mask of 0 and 1 for each key, as tokenizers write it, which is not boolean.
        """
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
        seen = scores != -torch.inf
        if mask is not None:
            seen = seen & fitting_mask(mask, scores)
        if not scores.shape[-1]:
            return scores  # no key, so no weight
        lowest = torch.finfo(scores.dtype).min
        # a key that is left scores far above a masked one, even with the lowest number
        left = scores.clamp(min=lowest / 2)
        return self.normalize(left.where(seen, lowest), seen).where(seen, 0.0)

    @abstractmethod
    def normalize(
        self,
        scores: Float[Tensor, "*batch queries keys"],
        seen: Bool[Tensor, "*batch queries keys"],
    ) -> Float[Tensor, "*batch queries keys"]:
        """Return the weights of the keys that are `seen`, and any finite numbers for the others.

        The scores of the others are the lowest number of their dtype. Those of keys that are seen
        are at least half of it.
        """


NormalizerFactory = Callable[..., Normalizer]
"""Builds a normalizer when called with `heads`."""


def keys_left(
    seen: Bool[Tensor, "*batch queries keys"], dtype: torch.dtype
) -> Float[Tensor, "*batch queries 1"]:
    """Return the number of keys that are left in each row, or 1 if none is."""
    return seen.sum(dim=-1, keepdim=True).clamp(min=1).to(dtype)
