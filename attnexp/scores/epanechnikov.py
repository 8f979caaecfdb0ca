"""The triangle kernel, which Dive into Deep Learning calls Epanechnikov."""

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.scores.base import Score, require_equal_dims, require_positive
from attnexp.scores.distance import distance


class Epanechnikov(Score):
    r"""a(q, k) = log max(0, 1 - w \|q - k\| / sqrt(d)), the triangle kernel.

    This is the kernel that Dive into Deep Learning, release 1.0, section 11.2, calls Epanechnikov.
    The kernel of Epanechnikov (1969) is another one, the parabola max(0, 1 - (w \|q - k\|)^2).
    `width` is w; the kernel reaches as far as 1/w. A query with no key within reach has all weights
    zero.

    No parameters. Raises ValueError for a width that is not positive and for unequal query and key
    dimensions.

    Example:
        >>> score = Epanechnikov(query_dim=1, key_dim=1, width=1.0)
        >>> score(torch.tensor([[0.0]]), torch.tensor([[0.0], [0.5], [2.0]])).exp()
        tensor([[1.0000, 0.5000, 0.0000]])
    """

    compact = True

    def __init__(self, query_dim: int, key_dim: int, width: float = 1.0) -> None:
        super().__init__(query_dim, key_dim)
        require_equal_dims("epanechnikov", query_dim, key_dim)
        require_positive("width", width)
        self.width = width

    def compare(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> Float[Tensor, "*batch queries keys"]:
        share = self.width * distance(queries, keys)
        inside = share < 1
        return torch.log1p(-share.where(inside, 0.0)).masked_fill(~inside, -torch.inf)
