"""The places of a graph at which attention weights can be replaced."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnexp.architectures.base import Architecture
from attnexp.probe.rewriting import Rewrite, Site, rewritten


@torch.library.custom_op("attnexp::weights", mutates_args=())
def weights_of(weights: Tensor, valid: Tensor, part: str, layer: int) -> Tensor:
    """Return the weights as they are. In a graph, the operation names a site."""
    return weights.clone()


@weights_of.register_fake
def _(weights: Tensor, valid: Tensor, part: str, layer: int) -> Tensor:
    return torch.empty_like(weights)


def marked(model: Architecture) -> Architecture:
    """Return a copy of a model whose weights pass through `weights_of` at each attention.

    Raises RequestError for an attention without a normalizer.
    """

    def mark(site: Site) -> Rewrite:
        def named(
            weights: Float[Tensor, "batch heads queries keys"],
            valid: Bool[Tensor, "batch heads queries keys"],
        ) -> Float[Tensor, "batch heads queries keys"]:
            marked_weights: Tensor = weights_of(weights, valid, site.part, site.layer)
            return marked_weights

        return named

    return rewritten(model, mark)
