"""The base of the kernels with a finite reach."""

from abc import abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.scores.distance import DistanceKernel, distance_in_widths


class CompactKernel(DistanceKernel):
    r"""a(q, k) = log K(u) with u = \|w\| \|q - k\| / sqrt(d), minus infinity from u = 1 on.

    A subclass defines log K in `log_height`. The kernel reaches as far as 1/w: a query with no key
    within reach has all weights zero, and no gradient that would move a key into reach. Gradients
    are finite at the edge of the support: u is below 1 by a rounding step at least, and the weight,
    by which the softmax multiplies the gradient of a score, goes to 0 there.

    Raises ValueError as `DistanceKernel` does.
    """

    compact = True

    @staticmethod
    @abstractmethod
    def log_height(share: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        """Return log K(u) for 0 <= u < 1."""

    def compare(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> Float[Tensor, "*batch queries keys"]:
        share = distance_in_widths(queries, keys, self.width)
        inside = share < 1
        return self.log_height(share.where(inside, 0.0)).masked_fill(~inside, -torch.inf)
