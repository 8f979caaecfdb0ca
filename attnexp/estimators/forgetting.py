"""Forgetting attention."""

from typing import ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from attnexp.estimators.base import Compared, Estimator, column_of_each_head, softmax_where


class Forgetting(Estimator):
    """l_ij = w_ij e^(c_i - c_j) / sum_m w_im e^(c_i - c_m), c_i = sum_(l <= i) log f_l.

    A gate f_l = sigmoid(w'x_l + b) at each key fades what came before it: of softmax weights the
    effective ones are softmax(a_ij + sum_(j < l <= i) log f_l). Lin et al. (2025, arXiv 2503.02130)
    call this the forgetting transformer; with gates that are constant it is ALiBi. The factor
    e^(c_i) is the same for all keys of a query and cancels.

    Each head has its own w and b, for the vectors x that keys are made of. b is `start` at first:
    gates are nearly open. Logarithms and sums are in float32 at least: a weight that is 0 there
    stays 0, as of a score that is 104 below another one. Only causal self-attention has an order of
    keys.
    """

    sums_to_one: ClassVar[bool] = True
    causal: ClassVar[bool] = True

    def __init__(
        self, heads: int, query_dim: int, key_dim: int, input_dim: int, start: float = 5.0
    ) -> None:
        super().__init__(heads, query_dim, key_dim, input_dim)
        self.W_f = nn.Linear(input_dim, heads)
        nn.init.constant_(self.W_f.bias, start)

    def remember(
        self,
        inputs: Float[Tensor, "*batch keys input_dim"],
        keys: Float[Tensor, "*heads keys key_dim"],
    ) -> Float[Tensor, "*heads keys 1"]:
        return column_of_each_head(F.logsigmoid(self.W_f(inputs)), keys)

    def between(
        self, weights: Float[Tensor, "*batch queries keys"], compared: Compared
    ) -> dict[str, Float[Tensor, "*batch keys 1"]]:
        """Return the gates f of the keys."""
        assert compared.kept is not None
        return {"gates": compared.kept.exp()}

    def forward(
        self, weights: Float[Tensor, "*batch queries keys"], compared: Compared
    ) -> Float[Tensor, "*batch queries keys"]:
        assert compared.kept is not None
        kind, seen = torch.promote_types(weights.dtype, torch.float32), weights > 0
        faded = compared.kept.to(kind).cumsum(dim=-2).mT
        return softmax_where(weights.where(seen, 1.0).to(kind).log() - faded, seen)
