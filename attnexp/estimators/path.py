"""Position encoding by accumulating Householder products."""

from typing import ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from attnexp.estimators.base import Compared, Estimator, column_of_each_head, softmax_where


class Path(Estimator):
    """l_ij = softmax_j(k_j' H_(j+1) ... H_i q_i) with H_l = I - b_l w_l w_l'.

    b_l = 2 sigmoid(u'x_l + d), and w_l = W x_l / |W x_l|.
    Between a key and a query each symbol reflects or removes one direction w_l of length 1, which
    is how the two learn their distance: PaTH, Yang et al. (2025, arXiv 2505.16381), without the
    short convolution over w. With b = 0 it is the softmax of the products. All products are
    Q K' - tril(Q W') (I + stril(diag(b) W W'))^-1 diag(b) stril(W K'), in float32 at least.

    q and k are the projections whose product is the score. Each head has its own u and d, and its
    own projection of x, the vector that keys are made of, to w. Only causal self-attention has an
    order of keys.
    """

    sums_to_one: ClassVar[bool] = True
    causal: ClassVar[bool] = True
    needs_products: ClassVar[bool] = True
    by_head: ClassVar[bool] = False

    def __init__(self, heads: int, query_dim: int, key_dim: int, input_dim: int) -> None:
        super().__init__(heads, query_dim, key_dim, input_dim)
        self.W_w = nn.Linear(input_dim, heads * key_dim, bias=False)
        self.W_b = nn.Linear(input_dim, heads)
        nn.init.zeros_(self.W_b.bias)

    def remember(
        self,
        inputs: Float[Tensor, "*batch keys input_dim"],
        keys: Float[Tensor, "*heads keys key_dim"],
    ) -> Float[Tensor, "*heads keys key_dim+1"]:
        shares = column_of_each_head(2 * self.W_b(inputs).sigmoid(), keys)
        ways = self.W_w(inputs).unflatten(-1, (self.heads, -1)).transpose(-3, -2).reshape_as(keys)
        return torch.cat([shares, F.normalize(ways, dim=-1)], dim=-1)

    def between(
        self, weights: Float[Tensor, "*batch queries keys"], compared: Compared
    ) -> dict[str, Float[Tensor, "*batch keys columns"]]:
        """Return the shares b and the directions w of the keys."""
        assert compared.kept is not None
        shares, ways = compared.kept.tensor_split([1], dim=-1)
        return {"shares": shares, "directions": ways}

    def forward(
        self, weights: Float[Tensor, "*batch queries keys"], compared: Compared
    ) -> Float[Tensor, "*batch queries keys"]:
        assert compared.kept is not None
        assert compared.projected is not None
        kind, mask = torch.promote_types(weights.dtype, torch.float32), compared.mask
        with torch.autocast(weights.device.type, enabled=False):
            shares, ways = compared.kept.to(kind).tensor_split([1], dim=-1)
            asked = compared.projected.to(kind) @ ways.mT
            asked = asked if mask is None else asked.where(mask, 0.0)
            turned = torch.linalg.solve_triangular(
                (shares * ways) @ ways.mT, asked, upper=False, left=False, unitriangular=True
            )
            after = (ways @ compared.keys.to(kind).mT).tril(-1)
            return softmax_where(weights.to(kind) - (turned * shares.mT) @ after, mask)
