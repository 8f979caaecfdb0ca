"""The weights farthest from the learned ones whose weighted mean stays where it is."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

PAIRS = 2**20
"""The most pairs of keys that are compared at once."""

KEYS = 512
"""The most keys on each side of a bound whose pairs are all compared: those with least weight."""


@torch.no_grad()
def farthest(
    weights: Float[Tensor, "rows keys"],
    valid: Bool[Tensor, "rows keys"],
    values: Float[Tensor, " keys"],
    near: float,
) -> tuple[Float[Tensor, " rows"], Bool[Tensor, " rows"]]:
    """Return the largest JSD(w', w) of each row, in nats, and whether no larger one exists.

    w' are weights of the valid keys, none negative, with the sum of w, whose answer sum_i w'_i v_i
    is at most `near` from sum_i w_i v_i. These w' form a polytope. JSD(w', w) of the shares, as
    `divergence` has it, is convex in w', so it is largest at a corner of the polytope. At a corner,
    besides sum and signs, one bound can hold with equality, so no more than two weights are not 0.
    With p = w' / sum w' and q = w / sum w, and a sum over these two,

        JSD = log 2 - sum ((p + q) log(p + q) - p log p - q log q) / 2.

    All such pairs are compared, `PAIRS` at a time, except for keys that can be left out. JSD is
    convex in the share of a key of a given weight, and falls with that weight. So a key can be left
    out if keys of at most its weight have values both nearer to the bound and farther from it. If
    more than `KEYS` are left on a side, only the lightest of them are compared, and a larger JSD
    may exist.

    The result is 0 for a row of zeros. Memory grows with the number of keys, and time with the
    square of the number that are left.
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
    """Return how much one key takes from log 2 in the JSD, given its two shares."""
    both = share + other
    return (both.xlogy(both) - share.xlogy(share) - other.xlogy(other)) / 2


def _light(reach: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
    """Return reach and share of the keys that need comparing, in order of their reach to the bound.

    A key is left out if keys of at most its share have both a smaller and a larger reach.
    """
    reach, order = reach.sort()
    shares = shares[order]
    keep = _falls(shares) | _falls(shares.flip(0)).flip(0)
    return reach[keep], shares[keep]


def _falls(shares: Tensor) -> Tensor:
    """Return whether each share is smaller than all before it."""
    lowest = shares.cummin(dim=0).values
    first = torch.ones_like(shares[:1], dtype=torch.bool)
    return torch.cat([first, shares[1:] < lowest[:-1]])


def _lightest(reach: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
    chosen = shares.argsort()[:KEYS]
    return reach[chosen], shares[chosen]


def _least_overlap(reach: Tensor, own: Tensor, other_reach: Tensor, other: Tensor) -> Tensor:
    """Return the smallest overlap of all pairs of keys, one on each side of a bound.

    The weighted mean of a pair is the bound, so the share of a key is the reach of the other key,
    divided by the sum of both.
    """
    size = max(1, PAIRS // len(other))
    found = []
    for one, shares in zip(reach.split(size), own.split(size), strict=True):
        share = other_reach / (one[:, None] + other_reach)
        found.append((_overlap(share, shares[:, None]) + _overlap(1 - share, other)).amin())
    return torch.stack(found).amin()
