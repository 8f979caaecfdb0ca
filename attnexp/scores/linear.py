"""The linear kernel, made positive."""

from jaxtyping import Float
from torch import Tensor

from attnexp.scores.base import Score, require_equal_dims
from attnexp.scores.logarithm import log_positive


class Linear(Score):
    """a(q, k) = log max(0, q.k), so that weights are in proportion to the dot product.

    The linear kernel of Tsai et al. (2019), section 3.1. It is negative for vectors at an obtuse
    angle, and their models with it did not converge. A weight cannot be negative: such a key has
    the weight zero here, and a query at an obtuse angle to every key has all weights zero.

    No parameters. Raises ValueError for unequal query and key dimensions.

    Example:
        >>> score = Linear(query_dim=2, key_dim=2)
        >>> score(torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0, 4.0], [-1.0, 1.0]])).exp()
        tensor([[3., 0.]])
    """

    compact = True
    of_products = True

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__(query_dim, key_dim)
        require_equal_dims("linear", query_dim, key_dim)

    def compare(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> Float[Tensor, "*batch queries keys"]:
        return log_positive(queries @ keys.mT)
