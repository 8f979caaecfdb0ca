"""The places of a graph at which scores and weights can be replaced, and numbers be set."""

import inspect
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnexp.architectures.base import Architecture
from attnexp.core.masks import MaskMatrix, ValidLens
from attnexp.normalizers.base import Normalizer
from attnexp.probe.rewriting import Rewrite, Site, rewritten
from attnexp.scores.base import Score


@torch.library.custom_op("attnexp::weights", mutates_args=())
def weights_of(weights: Tensor, valid: Tensor, part: str, layer: int) -> Tensor:
    """Return a copy of the weights. In a graph, this operation marks a site."""
    return weights.clone()


@weights_of.register_fake
def _(weights: Tensor, valid: Tensor, part: str, layer: int) -> Tensor:
    return torch.empty_like(weights)


@torch.library.custom_op("attnexp::scores", mutates_args=())
def scores_of(scores: Tensor, part: str, layer: int) -> Tensor:
    """Return a copy of the scores. In a graph, this operation marks a site."""
    return scores.clone()


@scores_of.register_fake
def _(scores: Tensor, part: str, layer: int) -> Tensor:
    return torch.empty_like(scores)


class OfSite(Normalizer):
    """A normalizer of scores that `scores_of` marks first."""

    sums_to_one: ClassVar[bool] = False
    shift_invariant: ClassVar[bool] = False

    def __init__(self, normalizer: Normalizer, site: Site) -> None:
        super().__init__(normalizer.heads)
        self.normalizer, self.site = normalizer, site

    def normalize(
        self,
        scores: Float[Tensor, "*batch queries keys"],
        seen: Bool[Tensor, "*batch queries keys"],
    ) -> Float[Tensor, "*batch queries keys"]:
        return self.normalizer.normalize(scores, seen)

    def forward(
        self,
        scores: Float[Tensor, "*batch queries keys"],
        mask: MaskMatrix | ValidLens | None = None,
    ) -> Float[Tensor, "*batch queries keys"]:
        marked_scores: Tensor = scores_of(scores, *self.site)
        return self.normalizer(marked_scores, mask)


def marked(model: Architecture) -> Architecture:
    """Return a copy of a model in which each attention marks its scores and weights as sites.

    Scores are marked where the attention has a normalizer.

    Raises RequestError for an attention without an estimator.
    """

    def mark(site: Site) -> Rewrite:
        def named(
            weights: Float[Tensor, "batch heads queries keys"],
            valid: Bool[Tensor, "batch heads queries keys"],
        ) -> Float[Tensor, "batch heads queries keys"]:
            marked_weights: Tensor = weights_of(weights, valid, *site)
            return marked_weights

        return named

    copy = rewritten(model, mark)
    for part, layers in copy.attentions.items():
        for layer, attention in enumerate(layers):
            normalizer = getattr(attention, "normalizer", None)
            if isinstance(normalizer, Normalizer):
                attention.normalizer = OfSite(normalizer, Site(part, layer))
    return copy


def with_numbers(model: nn.Module) -> nn.Module:
    """Make tensors of the numbers that scores and normalizers were built with; return the model.

    Such a number is a float attribute with the name of an argument of the constructor, such as
    `width`.
    """
    for module in model.modules():
        if isinstance(module, Score | Normalizer):
            for name in inspect.signature(type(module).__init__).parameters:
                if isinstance(module.__dict__.get(name), float):
                    value = torch.tensor(module.__dict__.pop(name))
                    module.register_buffer(name, value, persistent=False)
    return model


def numbers_of(model: nn.Module) -> list[str]:
    """Return the paths of the parameters of scores and normalizers that are one number."""
    return [
        f"{path}.{name}"
        for path, module in model.named_modules()
        if isinstance(module, Score | Normalizer)
        for name, tensor in (
            *module.named_parameters(recurse=False),
            *module.named_buffers(recurse=False),
        )
        if not tensor.dim() and tensor.is_floating_point()
    ]
