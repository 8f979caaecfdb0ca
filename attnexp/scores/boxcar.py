"""The boxcar kernel, which averages the keys within reach."""

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.scores.base import Score, require_equal_dims, require_positive
from attnexp.scores.distance import distance


class Boxcar(Score):
    r"""a(q, k) = log 1[ \|q - k\| / sqrt(d) <= 1/w ]: 0 within reach 1/w, minus infinity beyond.

    Dive into Deep Learning, release 1.0, section 11.2. `width` is w: a larger w includes fewer
    neighbours, as for the Gaussian. A query with no key within reach has all weights zero.

    No parameters; the score is constant, so no gradient reaches queries or keys. Raises ValueError
    for a width that is not positive and for unequal query and key dimensions.

    Example:
        >>> score = Boxcar(query_dim=1, key_dim=1, width=0.5)
        >>> score(torch.tensor([[0.0]]), torch.tensor([[1.0], [2.0], [3.0]]))
        tensor([[0., 0., -inf]])
    """

    compact = True

    def __init__(self, query_dim: int, key_dim: int, width: float = 1.0) -> None:
        super().__init__(query_dim, key_dim)
        require_equal_dims("boxcar", query_dim, key_dim)
        require_positive("width", width)
        self.width = width

    def compare(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> Float[Tensor, "*batch queries keys"]:
        gap = distance(queries, keys).detach()
        return torch.zeros_like(gap).masked_fill(gap > 1 / self.width, -torch.inf)
