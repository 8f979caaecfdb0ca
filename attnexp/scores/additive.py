"""The additive score of Bahdanau's decoder."""

from typing import Any, ClassVar, cast

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from attnexp.scores.base import Derivative, Score, batched_product, require_positive

FAR = 80.0
"""The largest size of 2 W_k k in a decoder's derivative: exp(-80) is a normal number in float32."""

REACH = 40.0
"""The largest projected query or key whose exponential is used: exp(80) is a float32."""


class AdditiveDerivative(Derivative):
    """The derivative of `Additive`, for a decoder. The parameters are those of W_q and w_v.

    The logistic function of a sum is 1 / (1 + exp(-q) exp(-k)). The keys stay the same for all
    steps, so that a step has no exponential for each pair, but a product and a reciprocal. Numbers
    of a key beyond `FAR`, where the tanh of the key alone is 1 to 34 digits, count as `FAR`, so
    that no product is 0 times infinity.
    """

    def __init__(self, keys: Float[Tensor, "*batch keys projected"], *parameters: Tensor) -> None:
        W_q, w_v = parameters
        self.W, self.u, self.minus_u = -2 * W_q, 2 * w_v, -2 * w_v
        self.minus_sum = -w_v.sum(dim=-1, keepdim=True)
        self.decay = keys.clamp(-FAR, FAR).neg_().exp_()
        self.one = keys.new_ones(())
        self.plain = w_v.dim() == 2
        self.of_keys = torch.zeros_like(self.decay)
        self.of_u = torch.zeros_like(self.u)
        self.of_scores: list[Tensor] = []

    def room(self, length: int) -> Float[Tensor, "length *kept"]:
        return self.decay.new_empty(length, *self.decay.shape)

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

    def gradients(self, of_W: Float[Tensor, "*copies projected query_dim"]) -> tuple[Tensor, ...]:
        of_sum = torch.stack(self.of_scores).sum(dim=(0, -1)).unsqueeze(-1)
        return self.u.unsqueeze(-2) * self.of_keys, -2 * of_W, 2 * self.of_u - of_sum


class _Tile(torch.autograd.Function):
    """u's(q + k) for many queries, s the logistic function, with its derivative written out."""

    @staticmethod
    def forward(
        ctx: Any,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
        u: Float[Tensor, "1 projected"],
    ) -> Float[Tensor, "*batch queries keys"]:
        logistic = logistic_of_sums(queries, keys)
        ctx.save_for_backward(logistic, u)
        return (logistic @ u.mT).squeeze(-1)

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, gradient: Float[Tensor, "*batch queries keys"]
    ) -> tuple[Tensor, Tensor, Tensor]:
        logistic, u = ctx.saved_tensors
        of_u = gradient.reshape(1, -1) @ logistic.flatten(0, -2)
        slope = logistic.addcmul_(logistic, logistic, value=-1)
        of_queries = (gradient.unsqueeze(-2) @ slope).squeeze(-2)
        of_keys = slope.mul_(gradient.unsqueeze(-1)).sum(dim=-3)
        return of_queries.mul_(u), of_keys.mul_(u), of_u


def logistic_of_sums(
    queries: Float[Tensor, "*batch queries projected"],
    keys: Float[Tensor, "*batch keys projected"],
) -> Float[Tensor, "*batch queries keys projected"]:
    """Return s(q + k) = 1 / (1 + exp(-q) exp(-k)) for each pair, s the logistic function.

    A query and a key take an exponential each, and a pair none. Where one of them would come near
    the largest number, the sum goes through `sigmoid`.
    """
    if max(queries.abs().amax(), keys.abs().amax()) > REACH:
        return (queries.unsqueeze(-2) + keys.unsqueeze(-3)).sigmoid_()
    decays = (queries.neg().exp_().unsqueeze(-2), keys.neg().exp_().unsqueeze(-3))
    return torch.addcmul(queries.new_ones(()), *decays).reciprocal_()


class Additive(Score):
    """a(q, k) = w_v' tanh(W_q q + W_k k), without biases.

    Bahdanau, Cho and Bengio (2015), appendix A.1.2, where the names are v_a, W_a and U_a. W_q is
    (hidden_dim, query_dim), W_k is (hidden_dim, key_dim) and w_v has `hidden_dim` entries.

    It is computed through the logistic function s, which takes a third of the time of tanh on a
    processor without AVX-512: with tanh z = 2 s(2z) - 1, and keys and queries projected by 2 W_k
    and 2 W_q, it is 2 w_v' s(q + k) - sum(w_v).

    The score cannot be written as a dot product, so comparing takes the memory of queries x keys x
    hidden_dim numbers.

    Raises ValueError for a hidden_dim below 1.

    Example:
        >>> score = Additive(query_dim=2, key_dim=3, hidden_dim=8)
        >>> score(torch.ones(5, 2), torch.ones(7, 3)).shape
        torch.Size([5, 7])
    """

    derivative: ClassVar[type[Derivative]] = AdditiveDerivative

    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int = 64) -> None:
        super().__init__(query_dim, key_dim)
        require_positive("hidden_dim", hidden_dim)
        self.W_q = nn.Linear(query_dim, hidden_dim, bias=False)
        self.W_k = nn.Linear(key_dim, hidden_dim, bias=False)
        self.w_v = nn.Linear(hidden_dim, 1, bias=False)

    def project_queries(
        self, queries: Float[Tensor, "*batch queries query_dim"]
    ) -> Float[Tensor, "*batch queries projected"]:
        return F.linear(queries, 2 * self.W_q.weight)

    def project_keys(
        self, keys: Float[Tensor, "*batch keys key_dim"]
    ) -> Float[Tensor, "*batch keys projected"]:
        return F.linear(keys, 2 * self.W_k.weight)

    def compare(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> Float[Tensor, "*batch queries keys"]:
        w_v = self.w_v.weight
        u, sum_w_v = 2 * w_v, w_v.sum(dim=-1)
        if queries.shape[-2] == 1:  # one decoding step: the queries need no axis
            return F.linear((queries + keys).sigmoid_(), u, -sum_w_v).mT
        inner = (queries.unsqueeze(-2) + keys.unsqueeze(-3)).sigmoid_()
        return F.linear(inner, u, -sum_w_v).squeeze(-1)

    def compare_tile(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> Float[Tensor, "*batch queries keys"]:
        w_v = self.w_v.weight
        scores = cast(Tensor, _Tile.apply(queries, keys, 2 * w_v))
        return scores - w_v.sum()

    def own_parameters(self) -> tuple[Tensor, ...]:
        return self.W_q.weight, self.w_v.weight
