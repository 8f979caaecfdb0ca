"""The bases of the kernels that reach no farther than a distance."""

from abc import abstractmethod

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.scores.base import Score, require_equal_dims, require_positive
from attnexp.scores.distance import Width, distance_in_widths, learned_width


class CompactKernel(Score):
    r"""a(q, k) = log K(u) with u = \|w\| \|q - k\| / sqrt(d), minus infinity from u = 1 on.

    A subclass defines log K in `log_height`. `width` is w, one over the reach, in the unit of one
    over q. A query with no key within reach has all weights zero. Gradients are finite at the edge
    of the support: u is below 1 by a rounding step at least, and the weight, by which the softmax
    multiplies the gradient of a score, goes to 0 there.

    Raises ValueError for unequal query and key dimensions.
    """

    compact = True
    width: Width

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__(query_dim, key_dim)
        require_equal_dims(type(self).__module__.rpartition(".")[-1], query_dim, key_dim)

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


class FixedWidth(CompactKernel):
    """A compact kernel whose width is a setting.

    Raises ValueError for a width that is not positive as well.
    """

    def __init__(self, query_dim: int, key_dim: int, width: float = 1.0) -> None:
        super().__init__(query_dim, key_dim)
        require_positive("width", width)
        self.width = width


class LearnedWidth(CompactKernel):
    """A compact kernel whose width is learned.

    It starts from U(0, 1), or from `initial_width` where one is given. With `per_dimension` there
    is one for each dimension, by which that of q - k is multiplied. w and -w give the same kernel.
    A query whose last neighbour has gone out of reach has no gradient that would bring it back.
    Where each training point is hidden from itself, learning w amounts to choosing the reach 1/w by
    leave-one-out cross-validation.
    """

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        initial_width: float | None = None,
        per_dimension: bool = False,
    ) -> None:
        super().__init__(query_dim, key_dim)
        self.width = learned_width(query_dim, initial_width, per_dimension)
