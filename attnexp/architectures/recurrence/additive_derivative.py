"""The derivative of the additive score, for a decoder."""

from functools import cached_property

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.architectures.recurrence.derivative import Derivative, WrittenOut, derivative_of
from attnexp.scores.additive import Additive
from attnexp.scores.base import batched_product

FAR = 80.0
"""The largest size of 2 W_k k: exp(-80) is a normal number in float32."""


class AdditiveDerivative(Derivative):
    """The derivative of `Additive`. The parameters are those of W_q and w_v.

    The tanh of a sum is 2 / (1 + exp(-2q) exp(-2k)) - 1. The keys stay the same for all steps, so
    that a step takes a product and a reciprocal for each pair, and no exponential. Entries of 2k
    beyond `FAR` count as `FAR`, so that no product is 0 times infinity: the tanh of such an entry
    alone is 1 to 34 digits.
    """

    compiled_as = 0

    def __init__(self, keys: Float[Tensor, "*batch keys projected"], *parameters: Tensor) -> None:
        W_q, w_v = parameters
        self.W, self.u, self.minus_u = -2 * W_q, 2 * w_v, -2 * w_v
        self.minus_sum = -w_v.sum(dim=-1, keepdim=True)
        self.keys = keys
        self.one = keys.new_ones(())
        self.plain = w_v.dim() == 2
        self.of_keys = torch.zeros_like(keys, memory_format=torch.contiguous_format)
        self.of_u = torch.zeros_like(self.u)
        self.of_scores: list[Tensor] = []

    @cached_property
    def decay(self) -> Float[Tensor, "*batch keys projected"]:
        """exp(-2k), which is not needed backwards."""
        return (2 * self.keys).clamp_(-FAR, FAR).neg_().exp_()

    def buffer(self, length: int) -> Float[Tensor, "length *kept"]:
        return self.keys.new_empty(length, *self.keys.shape)

    def compare(
        self, query: Float[Tensor, "*batch projected"], kept: Float[Tensor, "*batch keys projected"]
    ) -> Float[Tensor, "*batch 1 keys"]:
        decay = query.exp().unsqueeze(-2)
        torch.addcmul(self.one, self.decay, decay, out=kept).reciprocal_()
        affine = torch.addmm if self.plain else torch.baddbmm
        scores = affine(self.minus_sum, kept.flatten(-3, -2), self.u.mT)
        return scores.view(*kept.shape[:-2], 1, kept.shape[-2])

    def pull_back(
        self,
        gradient: Float[Tensor, "*batch 1 keys"],
        kept: Float[Tensor, "*batch keys projected"],
        of_query: Float[Tensor, "*batch projected"],
    ) -> None:
        row = gradient.reshape(*self.of_u.shape[:-1], -1)
        add = self.of_u.addmm_ if self.plain else self.of_u.baddbmm_
        add(row, kept.flatten(-3, -2))
        slope = torch.addcmul(kept, kept, kept, value=-1)
        self.of_keys.addcmul_(slope, gradient.mT)
        torch.mul(batched_product(gradient, slope).squeeze(-2), self.minus_u, out=of_query)
        self.of_scores.append(row)

    def compiled(self) -> tuple[Tensor | None, ...]:
        return self.decay.contiguous(), self.u.contiguous(), self.minus_sum

    def compiled_gradients(self) -> tuple[Tensor | None, ...]:
        self.of_scores.append(torch.zeros_like(self.minus_sum))
        return self.u, self.of_keys, self.of_u, self.of_scores[0]

    def gradients(self, of_W: Float[Tensor, "*copies projected query_dim"]) -> tuple[Tensor, ...]:
        of_sum = torch.stack(self.of_scores).sum(dim=(0, -1)).unsqueeze(-1)
        return 2 * self.u.unsqueeze(-2) * self.of_keys, -2 * of_W, 2 * self.of_u - of_sum


@derivative_of.register
def _of_additive(score: Additive) -> WrittenOut | None:
    if type(score) is not Additive:
        return None
    return WrittenOut(AdditiveDerivative, (score.W_q.weight, score.w_v.weight))
