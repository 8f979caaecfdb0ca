"""The delta rule."""

from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnexp.estimators.base import Compared, Estimator, column_of_each_head


class Delta(Estimator):
    """o_t = S_t q_t, S_t = S_{t-1} + b_t (v_t - S_{t-1} k_t) k_t' and b_t = sigmoid(w'x_t + c).

    A state S that predicts values from keys is corrected by a share b of its error at each key.
    These are the fast weights of Schlag, Irie and Schmidhuber (2021, arXiv 2102.11174), which Yang
    et al. (2024, arXiv 2406.06484) brought to the speed of attention, by the rule of Widrow and
    Hoff (1960). Its effective weights are L = tril(Q K') (I + stril(diag(b) K K'))^-1 diag(b), in
    float32 at least, and may be negative. With b = 0 in the inverse they are those of linear
    attention.

    q and k are the projections whose product is the score; keys have length 1. Each head has its
    own w and c, for the vectors x that keys are made of. b is 1/2 at the start for x = 0. Only
    causal self-attention has an order of keys.
    """

    signed: ClassVar[bool] = True
    causal: ClassVar[bool] = True
    needs_products: ClassVar[bool] = True
    by_head: ClassVar[bool] = False

    def __init__(self, heads: int, query_dim: int, key_dim: int, input_dim: int) -> None:
        super().__init__(heads, query_dim, key_dim, input_dim)
        self.W_b = nn.Linear(input_dim, heads)
        nn.init.zeros_(self.W_b.bias)

    def prepare(self, keys: Float[Tensor, "*batch keys projected"]) -> Tensor:
        squares = keys.square().sum(dim=-1, keepdim=True)
        return keys * squares.clamp(min=torch.finfo(keys.dtype).tiny).rsqrt()

    def remember(
        self,
        inputs: Float[Tensor, "*batch keys input_dim"],
        keys: Float[Tensor, "*heads keys key_dim"],
    ) -> Float[Tensor, "*heads keys 1"]:
        return column_of_each_head(self.W_b(inputs).sigmoid(), keys)

    def between(
        self, weights: Float[Tensor, "*batch queries keys"], compared: Compared
    ) -> dict[str, Float[Tensor, "*batch keys columns"]]:
        """Return the shares b and the inverse T = (I + stril(diag(b) K K'))^-1 diag(b): L = P T.

        P are the products. The rows of T V are the corrections that the keys write to the state.
        """
        with torch.autocast(weights.device.type, enabled=False):
            shares, before = self.triangle(compared)
            unit = torch.eye(weights.shape[-1], dtype=before.dtype, device=weights.device)
            return {"shares": shares, "inverse": _solved(unit.expand_as(weights), shares, before)}

    def forward(
        self, weights: Float[Tensor, "*batch queries keys"], compared: Compared
    ) -> Float[Tensor, "*batch queries keys"]:
        with torch.autocast(weights.device.type, enabled=False):
            return _solved(self.read(weights, compared), *self.triangle(compared))

    def answer(
        self,
        weights: Float[Tensor, "*batch queries keys"],
        values: Float[Tensor, "*heads keys value_dim"],
        compared: Compared,
    ) -> Float[Tensor, "*heads queries value_dim"]:
        with torch.autocast(weights.device.type, enabled=False):
            shares, before = self.triangle(compared)
            # (I + A) U = diag(b) V, the corrections that are written at each key
            written = torch.linalg.solve_triangular(
                before, shares * values.to(before.dtype), upper=False, unitriangular=True
            )
            return (self.read(weights, compared) @ written).to(values.dtype)

    def triangle(
        self, compared: Compared
    ) -> tuple[Float[Tensor, "*batch keys 1"], Float[Tensor, "*batch keys keys"]]:
        """Return diag(b) as a column, and A below its diagonal, in float32 at least.

        A triangular solve reads no other numbers.
        """
        assert compared.kept is not None
        kind = torch.promote_types(compared.keys.dtype, torch.float32)
        keys, shares = compared.keys.to(kind), compared.kept[..., :1].to(kind)
        return shares, (shares * keys) @ keys.mT

    def read(
        self, weights: Float[Tensor, "*batch queries keys"], compared: Compared
    ) -> Float[Tensor, "*batch queries keys"]:
        """Return how much of each correction a query reads: the products, in float32 at least."""
        return weights.to(torch.promote_types(weights.dtype, torch.float32))


def _solved(read: Tensor, shares: Tensor, before: Tensor) -> Tensor:
    """Return X diag(b) with X (I + A) = P, for each query a row of P and X."""
    rows = torch.linalg.solve_triangular(
        before, read.to(before.dtype), upper=False, left=False, unitriangular=True
    )
    return rows * shares.mT
