"""The steps of attention, to be shown: scores, mask, weights, context."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnexp.core.masks import ValidLens, fitting_mask
from attnexp.normalizers.base import Normalizer
from attnexp.scores.base import Score, batched_product


class Steps(NamedTuple):
    """Holds the results of each step of attention, from scores to contexts.

    The mask is true for a key to which the query may attend. Without values there is no context.
    """

    scores: Float[Tensor, "batch queries keys"]
    mask: Bool[Tensor, "batch queries keys"]
    weights: Float[Tensor, "batch queries keys"]
    context: Float[Tensor, "batch queries value_dim"] | None


@torch.no_grad()
def take_steps(
    scores: Float[Tensor, "batch queries keys"],
    normalizer: Normalizer,
    values: Float[Tensor, "batch keys value_dim"] | None = None,
    valid_lens: ValidLens | None = None,
) -> Steps:
    """Return the steps from scores to contexts. They are those of `AttentionPooling`.

    `valid_lens` hold one length per sequence or per query. Raises ValueError for lengths out of
    range or of a shape that does not fit.
    """
    mask = None if valid_lens is None else fitting_mask(valid_lens, scores)
    weights = normalizer(scores, mask)
    shown = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask.expand_as(scores)
    context = None if values is None else batched_product(weights, values)
    return Steps(scores, shown, weights, context)


class Stepwise(nn.Module):
    """Computes the steps from tensors by name: queries and keys, or scores; mask, and values."""

    def __init__(self, score: Score | None, normalizer: Normalizer) -> None:
        super().__init__()
        self.score = score
        self.normalizer = normalizer

    def forward(self, given: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return scores, weights and, if there are values, the context."""
        if self.score is None:
            scores = given["scores"]
        else:
            scores = self.score(given["queries"], given["keys"], given["mask"])
        weights = self.normalizer(scores, given["mask"])
        found = {"scores": scores, "weights": weights}
        if "values" in given:
            found["context"] = batched_product(weights, given["values"])
        return found
