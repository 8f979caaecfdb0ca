"""The weights farthest from the learned ones whose weighted mean stays where it is."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

PAIRS = 2**20
"""Pairs of keys that are looked at together."""

KEYS = 512
"""The keys on each side of an answer of which all pairs are looked at: those with least weight."""


@torch.no_grad()
def farthest(
    weights: Float[Tensor, "rows keys"],
    valid: Bool[Tensor, "rows keys"],
    values: Float[Tensor, " keys"],
    near: float,
) -> tuple[Float[Tensor, " rows"], Bool[Tensor, " rows"]]:
    """Return the largest JSD(w', w) of each row, nats, and whether it is exactly that.

    w' are the weights of the valid keys with the sum of w, none negative, whose answer
    sum_i w'_i v_i is at most `near` from sum_i w_i v_i. They form a polytope, and JSD(w', w) of the
    shares, as `divergence` has it, is convex in w', so it is largest at a corner of the polytope.
    Besides sum and signs one bound can hold with equality there, so no more than two weights are
    not 0, and with p = w' / sum w' and q = w / sum w

        JSD = log 2 - sum over these of ((p + q) log(p + q) - p log p - q log q) / 2.

    All such pairs are looked at, `PAIRS` at a time, but for keys that can be left out: for the
    same weight a key's JSD is convex in its share, and it falls with the weight, so another key
    is as good if keys of at most its weight have values both nearer to the bound and farther. If
    more than `KEYS` are left on a side, the lightest of them are looked at, and the largest JSD may
    be more.

    It is 0 for a row of zeros. Memory grows with keys, and time with the square of the keys that
    are left.
    """
    pairs = [
        _of_row(own[allowed], values[allowed].double(), near)
        for own, allowed in zip(weights.double(), valid, strict=True)
    ]
    return (
        torch.tensor([distance for distance, _ in pairs], dtype=torch.float64),
        torch.tensor([exact for _, exact in pairs]),
    )


def _of_row(weights: Tensor, values: Tensor, near: float) -> tuple[float, bool]:
    total = weights.sum()
    if total == 0:
        return 0.0, True
    shares = weights / total
    # rounding must not put the answer outside of the values
    answer = (shares @ values).clamp(values.min(), values.max())
    low, high = answer - near / total, answer + near / total
    alone = shares[(low <= values) & (values <= high)]
    least = [_overlap(torch.ones_like(alone), alone).amin()] if len(alone) else []
    whole = True
    for bound in (low, high):
        below, above = values < bound, values > bound
        if below.any() and above.any():
            sides = [_light((values - bound)[side].abs(), shares[side]) for side in (below, above)]
            whole = whole and all(len(reach) <= KEYS for reach, _ in sides)
            (reach, own), (other_reach, other) = (_lightest(*side) for side in sides)
            least.append(_least_overlap(reach, own, other_reach, other))
    return max(0.0, math.log(2) - float(torch.stack(least).amin())), whole


def _overlap(share: Tensor, other: Tensor) -> Tensor:
    """Return the part of log 2 that two shares of one key take away."""
    both = share + other
    return (both.xlogy(both) - share.xlogy(share) - other.xlogy(other)) / 2


def _light(reach: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
    """Leave out keys that two others of at most their weight enclose by reach to the bound."""
    reach, order = reach.sort()
    shares = shares[order]
    keep = _falls(shares) | _falls(shares.flip(0)).flip(0)
    return reach[keep], shares[keep]


def _falls(shares: Tensor) -> Tensor:
    """Return which shares are below all before them."""
    lowest = shares.cummin(dim=0).values
    first = torch.ones_like(shares[:1], dtype=torch.bool)
    return torch.cat([first, shares[1:] < lowest[:-1]])


def _lightest(reach: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
    chosen = shares.argsort()[:KEYS]
    return reach[chosen], shares[chosen]


def _least_overlap(reach: Tensor, own: Tensor, other_reach: Tensor, other: Tensor) -> Tensor:
    """Return the least of all pairs of a key on one side of a bound and a key on the other.

    Their mean is the bound, so a key has the share reach of the other / (sum of both reaches).
    """
    size = max(1, PAIRS // len(other))
    found = []
    for one, shares in zip(reach.split(size), own.split(size), strict=True):
        share = other_reach / (one[:, None] + other_reach)
        found.append((_overlap(share, shares[:, None]) + _overlap(1 - share, other)).amin())
    return torch.stack(found).amin()
