"""The gated delta rule."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from attnexp.estimators.base import Compared, column_of_each_head
from attnexp.estimators.delta import Delta


class GatedDelta(Delta):
    """o_t = S_t q_t, S_t = a_t S_(t-1) (I - b_t k_t k_t') + b_t v_t k_t', a_t = sigmoid(u'x_t + d).

    The state of the delta rule fades by a gate a before each correction. Yang et al. (2025, arXiv
    2412.06464). With R_ij = a_(j+1) ... a_i its effective weights are
    (R o tril(Q K')) (I + stril(R o diag(b) K K'))^-1 diag(b), in float32 at least, and may be
    negative. With a = 1 it is `Delta`.

    Each head has its own u and d. d is `start` at first: gates are nearly open.
    """

    def __init__(
        self, heads: int, query_dim: int, key_dim: int, input_dim: int, start: float = 5.0
    ) -> None:
        super().__init__(heads, query_dim, key_dim, input_dim)
        self.W_a = nn.Linear(input_dim, heads)
        nn.init.constant_(self.W_a.bias, start)

    def remember(
        self,
        inputs: Float[Tensor, "*batch keys input_dim"],
        keys: Float[Tensor, "*heads keys key_dim"],
    ) -> Float[Tensor, "*heads keys 2"]:
        gates = column_of_each_head(F.logsigmoid(self.W_a(inputs)), keys)
        return torch.cat([super().remember(inputs, keys), gates], dim=-1)

    def between(
        self, weights: Float[Tensor, "*batch queries keys"], compared: Compared
    ) -> dict[str, Float[Tensor, "*batch keys columns"]]:
        """Return the shares, the gates a, and T with L = (R o P) T, P the products."""
        assert compared.kept is not None
        return super().between(weights, compared) | {"gates": compared.kept[..., 1:].exp()}

    def triangle(
        self, compared: Compared
    ) -> tuple[Float[Tensor, "*batch keys 1"], Float[Tensor, "*batch keys keys"]]:
        shares, before = super().triangle(compared)
        logs = _logs(compared)
        return shares, before * (logs - logs.mT).clamp(max=0).exp()

    def read(
        self, weights: Float[Tensor, "*batch queries keys"], compared: Compared
    ) -> Float[Tensor, "*batch queries keys"]:
        logs, mask = _logs(compared).mT, compared.mask
        # the logarithm at a query is the lowest of its keys, which is that of the last one
        now = (logs if mask is None else logs.where(mask, 0.0)).amin(dim=-1, keepdim=True)
        return super().read(weights, compared) * (now - logs).clamp(max=0).exp()


def _logs(compared: Compared) -> Tensor:
    """Return log a_1 + ... + log a_j for each key j, in float32 at least."""
    assert compared.kept is not None
    gates = compared.kept[..., 1:]
    return gates.to(torch.promote_types(gates.dtype, torch.float32)).cumsum(dim=-2)
