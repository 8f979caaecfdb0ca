"""The laws of interventions: pure functions from the weights of rows to those that replace them.

A row is a query of a head. Every law but `zero` keeps the sum of each row, so that where rows do
not sum to 1 the size of a context is not changed along with its direction; `unit` returns the law
whose rows sum to 1.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Weights = Float[Tensor, "batch heads queries keys"]


@dataclass(frozen=True)
class Rows:
    """Weights of rows, and what a law may know of them.

    - `valid` says which keys each row may attend to.
    - `gold` is the key that each query was made from, -1 where there is none.
    - `random` returns numbers from U(0, 1), one for each weight, the same ones whenever the same
      rows of the same repetition are asked for.
    """

    weights: Weights
    valid: Bool[Tensor, "batch heads queries keys"]
    gold: Int[Tensor, "batch queries"] | None
    random: Callable[[], Weights]

    @property
    def sums(self) -> Float[Tensor, "batch heads queries 1"]:
        """The sum of each row."""
        return self.weights.sum(dim=-1, keepdim=True)


Law = Callable[[Rows], Weights]
"""Returns the weights that replace those of the rows."""


def uniform(rows: Rows) -> Weights:
    """w'_i = s / n over the n valid keys, s the sum of the row."""
    return _shared(rows.valid.to(rows.weights.dtype), rows)


def gold(rows: Rows) -> Weights:
    """w'_i = s at the gold key, and 0 elsewhere. A row without a gold key stays as it is."""
    if rows.gold is None:
        return rows.weights
    places = rows.gold[:, None, :, None].expand_as(rows.weights[..., :1])
    there = torch.zeros_like(rows.weights).scatter(-1, places.clamp(min=0), 1.0) * rows.valid
    return _shared(there.where(places >= 0, 0.0), rows)


def hard(rows: Rows) -> Weights:
    """w'_i = s at the largest weight, and 0 elsewhere. Where several are largest they share s."""
    return topk(1)(rows)


def topk(count: int) -> Law:
    """w'_i = s w_i / (the sum over the `count` largest) at these, and 0 elsewhere.

    Keys that tie with the last of them stay too. Whether the answer stays is the sufficiency of
    DeYoung et al. (2020), ERASER.
    """

    def law(rows: Rows) -> Weights:
        return _shared(rows.weights.where(_largest(rows, count), 0.0), rows)

    return law


def without_topk(count: int) -> Law:
    """w'_i = 0 at the `count` largest, and s w_i / (the sum over the others) elsewhere.

    The loss of the answer is the comprehensiveness of DeYoung et al. (2020), ERASER. A row without
    another weight above 0 stays as it is.
    """

    def law(rows: Rows) -> Weights:
        return _shared(rows.weights.where(~_largest(rows, count), 0.0), rows)

    return law


def shuffled(rows: Rows) -> Weights:
    """w'_i = w_pi(i), pi a random permutation of the row's valid keys (Jain and Wallace 2019)."""
    # valid keys first, in random order, and in the order of keys
    drawn = rows.random().masked_fill(~rows.valid, 2.0).argsort(dim=-1)
    ordered = (~rows.valid).to(torch.uint8).argsort(dim=-1, stable=True)
    return torch.zeros_like(rows.weights).scatter(-1, ordered, rows.weights.gather(-1, drawn))


def random(rows: Rows) -> Weights:
    """w' = s p over the valid keys, p from the Dirichlet distribution with all parameters 1."""
    exponential = -torch.log1p(-rows.random())
    return _shared(exponential.where(rows.valid, 0.0), rows)


def zero(rows: Rows) -> Weights:
    """w'_i = 0: what a head returns is 0 before the output projection."""
    return torch.zeros_like(rows.weights)


def interpolate(law: Law, share: float) -> Law:
    """w' = (1 - share) w + share law(w), one rung of the ladder from the weights to a law."""
    return lambda rows: torch.lerp(rows.weights, law(rows), share)


def unit(law: Law) -> Law:
    """Return the law with rows that sum to 1; rows of zeros stay as they are."""

    def summed(rows: Rows) -> Weights:
        found = law(rows)
        sums = found.sum(dim=-1, keepdim=True)
        return found / sums.where(sums > 0, 1.0)

    return summed


def _shared(shares: Weights, rows: Rows) -> Weights:
    """Return each row's own sum divided in proportion to `shares`; without any, the row itself."""
    sums = shares.sum(dim=-1, keepdim=True)
    return (shares * (rows.sums / sums.where(sums > 0, 1.0))).where(sums > 0, rows.weights)


def _largest(rows: Rows, count: int) -> Bool[Tensor, "batch heads queries keys"]:
    """Return the `count` largest weights of each row, and those that tie with the last of them."""
    count = min(count, rows.weights.shape[-1])
    least = rows.weights.topk(count, dim=-1).values[..., -1:]
    return (rows.weights >= least) & (rows.weights > 0)
