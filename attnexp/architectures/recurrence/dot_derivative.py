"""The derivative of the dot products, for a decoder."""

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.architectures.recurrence.derivative import Derivative, WrittenOut, derivative_of
from attnexp.scores.base import Score, batched_product
from attnexp.scores.bilinear import Bilinear
from attnexp.scores.dot import Dot
from attnexp.scores.scaled_dot import ScaledDot


class DotDerivative(Derivative):
    """The derivative of q.k for projected keys, without parameters.

    The gradients of the keys are sums over the steps, and made by one product after them.
    """

    compiled_as = 1

    def __init__(self, keys: Float[Tensor, "*batch keys projected"], *parameters: Tensor) -> None:
        size = keys.shape[-1]
        one = torch.eye(size, dtype=keys.dtype, device=keys.device)
        self.W = (self.scale(size) * one).expand(*keys.shape[:-3], size, size)
        self.keys = keys
        self.of_keys = torch.zeros_like(keys, memory_format=torch.contiguous_format)
        self.queries: list[Tensor] = []
        self.of_scores: list[Tensor] = []

    @staticmethod
    def scale(size: int) -> float:
        """Return the number that queries of a size are multiplied by."""
        return 1.0

    def buffer(self, length: int) -> Float[Tensor, "length *batch projected"]:
        return self.keys.new_empty(length, *self.keys.shape[:-2], self.keys.shape[-1])

    def compare(
        self, query: Float[Tensor, "*batch projected"], kept: Float[Tensor, "*batch projected"]
    ) -> Float[Tensor, "*batch 1 keys"]:
        kept.copy_(query)
        return batched_product(kept.unsqueeze(-2), self.keys.mT)

    def pull_back(
        self,
        gradient: Float[Tensor, "*batch 1 keys"],
        kept: Float[Tensor, "*batch projected"],
        of_query: Float[Tensor, "*batch projected"],
    ) -> None:
        batched_product(gradient, self.keys, out=of_query.unsqueeze(-2))
        self.queries.append(kept)
        self.of_scores.append(gradient.squeeze(-2))

    def compiled(self) -> tuple[Tensor | None, ...]:
        return self.keys.contiguous(), None, None

    def compiled_gradients(self) -> tuple[Tensor | None, ...]:
        return self.keys.contiguous(), self.of_keys, None, None

    def gradients(self, of_W: Float[Tensor, "*copies projected query_dim"]) -> tuple[Tensor, ...]:
        if self.of_scores:
            of_scores = torch.stack(self.of_scores, dim=-1)
            self.of_keys = batched_product(of_scores, torch.stack(self.queries, dim=-2))
        return (self.of_keys,)


class ScaledDotDerivative(DotDerivative):
    """The derivative of q.k / sqrt(d)."""

    @staticmethod
    def scale(size: int) -> float:
        return size**-0.5


@derivative_of.register(Dot)
@derivative_of.register(Bilinear)
def _of_dot(score: Score) -> WrittenOut | None:
    return WrittenOut(DotDerivative, ()) if type(score) in (Dot, Bilinear) else None


@derivative_of.register
def _of_scaled_dot(score: ScaledDot) -> WrittenOut | None:
    return WrittenOut(ScaledDotDerivative, ()) if type(score) is ScaledDot else None
