"""The squared dot product as a kernel."""

from jaxtyping import Float
from torch import Tensor

from attnexp.scores.base import Score, require_equal_dims
from attnexp.scores.logarithm import log_positive


class SquaredDot(Score):
    """a(q, k) = log (q.k)^2 = 2 log |q.k|, so that weights are in proportion to the square.

    The polynomial kernel of degree 2 of Tsai et al. (2019), section 3.1. A key and its opposite
    have the same weight; a key at a right angle to the query has the weight zero, and a query
    that is the zero vector has all weights zero.

    No parameters. Raises ValueError for unequal query and key dimensions.

    Example:
        >>> score = SquaredDot(query_dim=2, key_dim=2)
        >>> score(torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0, 4.0], [-2.0, 1.0]])).exp()
        tensor([[9., 4.]])
    """

    compact = True
    of_products = True

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__(query_dim, key_dim)
        require_equal_dims("squared_dot", query_dim, key_dim)

    def compare(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> Float[Tensor, "*batch queries keys"]:
        return 2 * log_positive((queries @ keys.mT).abs())
