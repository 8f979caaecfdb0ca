"""The local linear estimator."""

from collections.abc import Callable
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.estimators.base import Compared, Estimator
from attnexp.scores.base import require_positive

ROUNDING = 16
"""The rounding of a difference of keys, in units of the last place of the largest one."""

FAR = 1e18
"""The distance of a query, in units of the largest key, whose square does not overflow."""


class LocalLinear(Estimator):
    """l_i = w_i (1 + (k_i - m)' b), with b = S^-1 (q - m): the local linear fit, read at q.

    The answer a of the least squares fit v = a + B (k - q) with weights w, which are first divided
    by their sum. m = sum_i w_i k_i is the mean key, and S = sum_i w_i (k_i - m)(k_i - m)' + r I,
    with r `ridge` times sum_i w_i |k_i - q|^2, or 0 if keys have one feature. Effective weights sum
    to 1 and may be negative. For a query far outside its keys r outweighs their spread, and the
    answer is the local constant.

    Stone (1977), Fan (1993), Hastie and Loader (1993): where keys lie on one side of the query, as
    at an end of the data, the mean of the values is biased, and the line is not. With r = 0 linear
    functions of the keys are reproduced exactly. As attention: arXiv 2510.01450.

    b is found by `steps` steps of conjugate gradients, each of which takes two products of the size
    of attention, and which are exact after as many steps as keys have features. Without two keys
    apart it is 0, and the answer is the local constant. So it is of several features if q and the
    keys near it are within 0.001 of their distance from the mean of all keys, in single precision.
    With a `ridge` of 0 the line is not unique unless keys span all features.

    q and k are those of each head, W_q^i q and W_k^i k, before the score does anything to them, and
    must have equal sizes. In half precision the fit is made in float32.

    Raises ValueError for unequal sizes, a negative `ridge` and fewer than one of `steps`.

    Example:
        >>> estimator = LocalLinear(heads=1, query_dim=1, key_dim=1, input_dim=1)
        >>> compared = Compared(torch.tensor([[3.0]]), x := torch.tensor([[0.0], [2.0]]), x, None)
        >>> estimator(torch.tensor([[0.5, 0.5]]), compared)
        tensor([[-0.5000,  1.5000]])
    """

    signed: ClassVar[bool] = True
    sums_to_one: ClassVar[bool] = True

    def __init__(
        self,
        heads: int,
        query_dim: int,
        key_dim: int,
        input_dim: int,
        ridge: float = 0.01,
        steps: int = 6,
    ) -> None:
        super().__init__(heads, query_dim, key_dim, input_dim)
        if query_dim != key_dim:
            raise ValueError(
                "local_linear needs queries and keys of one size, got "
                f"{query_dim} and {key_dim}: choose estimator=local_constant"
            )
        if not ridge >= 0:
            raise ValueError(f"ridge must be 0 or more, got {ridge}")
        require_positive("steps", steps)
        self.ridge, self.steps = ridge, min(steps, key_dim)

    def remember(
        self,
        inputs: Float[Tensor, "*batch keys input_dim"],
        keys: Float[Tensor, "*heads keys key_dim"],
    ) -> Float[Tensor, "*heads keys key_dim"]:
        return keys

    def between(
        self, weights: Float[Tensor, "*batch queries keys"], compared: Compared
    ) -> dict[str, Float[Tensor, "*batch queries features"]]:
        """Return the mean key m and the tilt b: l_i = w_i (1 + (k_i - m)' b)."""
        assert compared.kept is not None
        shares, _, tilt = self._fit(weights, compared)
        return {"mean_key": shares @ compared.kept, "tilt": tilt}

    def forward(
        self, weights: Float[Tensor, "*batch queries keys"], compared: Compared
    ) -> Float[Tensor, "*batch queries keys"]:
        with torch.autocast(weights.device.type, enabled=False):
            shares, tilted, _ = self._fit(weights, compared)
            return shares * (1 + tilted)

    def _fit(self, weights: Tensor, compared: Compared) -> tuple[Tensor, Tensor, Tensor]:
        """Return the shares w, the (k_i - m)' b of each query, and b."""
        queries, keys, unit = _centred(compared, weights.dtype)
        total = weights.sum(dim=-1, keepdim=True)
        shares = divided(weights, total, _vanished(weights))
        if keys.shape[-1] == 1:
            mean = shares @ keys
            apart = keys.mT - mean
            moved = shares * apart
            shift = moved.sum(dim=-1, keepdim=True)  # the rounding of the mean
            variance = (moved * apart).sum(dim=-1, keepdim=True) - shift.square()
            slope = _slope(queries - mean - shift, variance)
            return shares, (apart - shift) * slope, slope / unit
        mean = shares @ keys
        away = (queries - mean).clamp(-FAR, FAR)
        square = shares @ keys.square().sum(dim=-1, keepdim=True)
        trace = (square - mean.square().sum(dim=-1, keepdim=True)).clamp(min=0.0)
        distance = trace + away.square().sum(dim=-1, keepdim=True)
        ridge = self.ridge * distance

        def along(b: Tensor) -> Tensor:
            return b @ keys.mT - (b * mean).sum(dim=-1, keepdim=True)

        def spread(b: Tensor) -> Tensor:
            moved = shares * along(b)
            return moved @ keys - moved.sum(dim=-1, keepdim=True) * mean + ridge * b

        rounding = ROUNDING * torch.finfo(keys.dtype).eps * square
        start = away.where(distance > rounding, 0.0)
        # a power of two changes no digit, and keeps squares of a small row from vanishing
        least = torch.finfo(keys.dtype).tiny
        size = 2.0 ** (distance.detach().clamp(min=least).log2() / 2).floor()
        flat = rounding.where(ridge == 0, 0.0) / size**2
        tilt = conjugate_gradients(lambda b: spread(b) / size**2, start / size, self.steps, flat)
        tilt = tilt / size
        return shares, along(tilt), tilt / unit

    def answer(
        self,
        weights: Float[Tensor, "*batch queries keys"],
        values: Float[Tensor, "*heads keys value_dim"],
        compared: Compared,
    ) -> Float[Tensor, "*heads queries value_dim"]:
        assert compared.kept is not None
        if compared.kept.shape[-1] > 1:
            return super().answer(weights, values, compared)
        queries, keys, _ = _centred(compared, weights.dtype)
        with torch.autocast(weights.device.type, enabled=False):
            ones = torch.ones_like(keys)
            numbers = torch.cat([ones, values.to(weights.dtype), keys], dim=-1)
            sums, means = (weights @ numbers).tensor_split([1], dim=-1)
            least = _vanished(weights)
            means = divided(means, sums, least)
            average, mean = means[..., :-1], means[..., -1:]
            apart = keys.mT - mean
            moved = weights * apart
            shift, moments = divided(moved @ numbers[..., :-1], sums, least).tensor_split([1], -1)
            squares = divided((moved * apart).sum(dim=-1, keepdim=True), sums, least)
            slope = _slope(queries - mean - shift, squares - shift.square())
            return (average + slope * (moments - shift * average)).to(values.dtype)


def _centred(compared: Compared, kind: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries and keys from the mean of all keys, in a unit near the largest such key.

    Far from 0, differences of keys would lose their digits, and in other units their squares would
    overflow or vanish. A key that no query sees is put at the mean of the others, so that it does
    not matter. The unit of keys of one feature is a power of two, which changes no digit.
    """
    assert compared.kept is not None
    queries, keys = compared.queries.to(kind), compared.kept.to(kind)
    if compared.mask is None:
        centre = keys.mean(dim=-2, keepdim=True)
        queries, keys = queries - centre, keys - centre
    else:
        seen = compared.mask.any(dim=-2).unsqueeze(-1)
        total = keys.where(seen, 0.0).sum(dim=-2, keepdim=True)
        centre = divided(total, seen.sum(dim=-2, keepdim=True))
        queries, keys = queries - centre, (keys - centre).where(seen, 0.0)
    largest = keys.detach().abs().amax()
    unit = largest.where(largest > 0, 1.0)
    if keys.shape[-1] == 1:
        unit = 2.0 ** unit.log2().ceil()
    return queries / unit, keys / unit, unit


def _vanished(weights: Tensor) -> float:
    """Return the sum of weights from which on they are 0, since their gradients would overflow."""
    return float(torch.finfo(weights.dtype).tiny ** 0.75)


def _slope(away: Tensor, variance: Tensor) -> Tensor:
    """Return b of keys of one feature, or 0 where their variance is rounding."""
    return divided(away, variance, (ROUNDING * torch.finfo(variance.dtype).eps) ** 2)


def divided(above: Tensor, below: Tensor, least: Tensor | float = 0.0) -> Tensor:
    """Return above / below, and 0 where `below` is not above `least`, with finite gradients."""
    there = below > least
    return (above / below.where(there, 1.0)).where(there, 0.0)


def conjugate_gradients(
    product: Callable[[Tensor], Tensor],
    right: Float[Tensor, "*batch features"],
    steps: int,
    flat: Tensor | float = 0.0,
) -> Float[Tensor, "*batch features"]:
    """Return b with S b = right, after this many steps from 0, for each row of `right`.

    `product` returns S b, with S symmetric and not negative, of each row its own. Hestenes and
    Stiefel (1952). A row is done when what is left of it is rounding, or when d'S d <= `flat` d'd
    along its direction d: further steps would divide rounding by rounding.
    """
    b, rest, direction = torch.zeros_like(right), right, right
    length = rest.square().sum(dim=-1, keepdim=True)
    least = length.detach() * torch.finfo(right.dtype).eps ** 2
    for _ in range(steps):
        moved = product(direction)
        bend = (direction * moved).sum(dim=-1, keepdim=True)
        level = flat * direction.detach().square().sum(dim=-1, keepdim=True)
        pace = divided(length, bend.where((length > least) & (bend > level), 0.0))
        b, rest = b + pace * direction, rest - pace * moved
        left = rest.square().sum(dim=-1, keepdim=True)
        direction, length = rest + divided(left, length, least) * direction, left
    return b
