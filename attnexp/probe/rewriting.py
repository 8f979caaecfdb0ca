"""A model whose attention weights are replaced before the values are summed."""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attnexp.architectures.base import Architecture
from attnexp.attention.base import Attention
from attnexp.core.errors import RequestError
from attnexp.estimators.base import Compared, Estimator

Rewrite = Callable[
    [Float[Tensor, "batch heads queries keys"], Bool[Tensor, "batch heads queries keys"]],
    Float[Tensor, "batch heads queries keys"],
]
"""Returns the weights that replace some rows of weights, given these and their valid keys."""


class Site(NamedTuple):
    """An attention of a model: its part, such as `cross`, and its layer, from 0."""

    part: str
    layer: int


class Rewritten(Estimator):
    """An estimator whose effective weights a function replaces."""

    signed: ClassVar[bool] = True
    by_head: ClassVar[bool] = False

    def __init__(self, estimator: Estimator, rewrite: Rewrite) -> None:
        nn.Module.__init__(self)
        self.heads = estimator.heads
        self.estimator = estimator
        self.rewrite = rewrite
        self.needs_products = estimator.needs_products  # type: ignore[misc]

    def prepare(self, keys: Float[Tensor, "*batch keys projected"]) -> Tensor:
        return self.estimator.prepare(keys)

    def remember(
        self,
        inputs: Float[Tensor, "*batch keys input_dim"],
        keys: Float[Tensor, "*heads keys key_dim"],
    ) -> Float[Tensor, "*heads keys kept"] | None:
        return self.estimator.remember(inputs, keys)

    def forward(
        self, weights: Float[Tensor, "*maps queries keys"], compared: Compared
    ) -> Float[Tensor, "*heads queries keys"]:
        weights = self.estimator(weights, compared)
        valid = torch.ones_like(weights, dtype=torch.bool)
        if compared.mask is not None:
            valid = valid & compared.mask
        if weights.dim() == 4:
            return self.rewrite(weights, valid)
        # one head has no axis for the heads
        return self.rewrite(weights.unsqueeze(1), valid.unsqueeze(1)).squeeze(1)


def rewritten(model: Architecture, rewrites: Callable[[Site], Rewrite]) -> Architecture:
    """Return a copy of a model whose weights are rewritten at each of its attentions.

    Raises RequestError for an attention without an estimator.
    """
    changed = copy.deepcopy(model)
    for attention, rewriter in _rewriters(changed, rewrites):
        attention.estimator = rewriter
    return changed


@contextmanager
def rewriting(model: Architecture, rewrites: Callable[[Site], Rewrite]) -> Iterator[None]:
    """Rewrite the weights of a model at each of its attentions during the block.

    Unlike `rewritten` this copies no model, which for a small model takes as long as a pass.

    Raises RequestError for an attention without an estimator.
    """
    found = _rewriters(model, rewrites)
    try:
        for attention, rewriter in found:
            attention.estimator = rewriter
        yield
    finally:
        for attention, rewriter in found:
            attention.estimator = rewriter.estimator


def _rewriters(
    model: Architecture, rewrites: Callable[[Site], Rewrite]
) -> list[tuple[Attention, Rewritten]]:
    """Return each attention of a model, with an estimator that rewrites the weights of its own.

    Raises RequestError for an attention without an estimator.
    """
    found = []
    for part, layers in model.attentions.items():
        for layer, attention in enumerate(layers):
            estimator = getattr(attention, "estimator", None)
            if not isinstance(estimator, Estimator):
                raise RequestError(
                    f"{part} of {type(model).__name__} is {type(attention).__name__}, which has no "
                    "estimator: its weights cannot be replaced"
                )
            found.append((attention, Rewritten(estimator, rewrites(Site(part, layer)))))
    return found
