"""A model whose attention weights are replaced between the normalizer and the average."""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attnexp.architectures.base import Architecture
from attnexp.attention.base import Attention
from attnexp.core.errors import RequestError
from attnexp.core.masks import MaskMatrix, ValidLens, fitting_mask
from attnexp.normalizers.base import Normalizer

Rewrite = Callable[
    [Float[Tensor, "batch heads queries keys"], Bool[Tensor, "batch heads queries keys"]],
    Float[Tensor, "batch heads queries keys"],
]
"""Returns the weights that replace those of some rows, whose valid keys are the second argument."""


class Site(NamedTuple):
    """An attention of a model: its part, such as `cross`, and its layer, from 0."""

    part: str
    layer: int


class Around(Normalizer):
    """A normalizer around another one, which normalizes its scores."""

    def __init__(self, normalizer: Normalizer) -> None:
        super().__init__(normalizer.heads)
        self.normalizer = normalizer

    def normalize(
        self,
        scores: Float[Tensor, "*batch queries keys"],
        seen: Bool[Tensor, "*batch queries keys"],
    ) -> Float[Tensor, "*batch queries keys"]:
        return self.normalizer.normalize(scores, seen)


class Rewritten(Around):
    """A normalizer followed by a function of its weights, which returns other weights."""

    sums_to_one: ClassVar[bool] = False
    shift_invariant: ClassVar[bool] = False

    def __init__(self, normalizer: Normalizer, rewrite: Rewrite) -> None:
        super().__init__(normalizer)
        self.rewrite = rewrite

    def forward(
        self,
        scores: Float[Tensor, "*batch queries keys"],
        mask: MaskMatrix | ValidLens | None = None,
    ) -> Float[Tensor, "*batch queries keys"]:
        weights = self.normalizer(scores, mask)
        valid = torch.ones_like(weights, dtype=torch.bool)
        if mask is not None:
            valid = valid & fitting_mask(mask, weights)
        if weights.dim() == 4:
            return self.rewrite(weights, valid)
        # one head has no axis for the heads
        return self.rewrite(weights.unsqueeze(1), valid.unsqueeze(1)).squeeze(1)


def rewritten(model: Architecture, rewrites: Callable[[Site], Rewrite]) -> Architecture:
    """Return a copy of a model whose weights are rewritten at each of its attentions.

    Raises RequestError for an attention without a normalizer.
    """
    changed = copy.deepcopy(model)
    for attention, rewriter in _rewriters(changed, rewrites):
        attention.normalizer = rewriter
    return changed


@contextmanager
def rewriting(model: Architecture, rewrites: Callable[[Site], Rewrite]) -> Iterator[None]:
    """Rewrite the weights of a model at each of its attentions until the end of the block.

    A copy of a small model takes as long as a pass of it. Raises RequestError for an attention
    without a normalizer.
    """
    found = _rewriters(model, rewrites)
    try:
        for attention, rewriter in found:
            attention.normalizer = rewriter
        yield
    finally:
        for attention, rewriter in found:
            attention.normalizer = rewriter.normalizer


def _rewriters(
    model: Architecture, rewrites: Callable[[Site], Rewrite]
) -> list[tuple[Attention, Rewritten]]:
    """Return each attention of a model with the normalizer that rewrites its weights."""
    found = []
    for part, layers in model.attentions.items():
        for layer, attention in enumerate(layers):
            normalizer = getattr(attention, "normalizer", None)
            if not isinstance(normalizer, Normalizer):
                raise RequestError(
                    f"{part} of {type(model).__name__} is {type(attention).__name__}, which has no "
                    "normalizer: its weights cannot be replaced"
                )
            found.append((attention, Rewritten(normalizer, rewrites(Site(part, layer)))))
    return found
