"""The polynomial kernel."""

from jaxtyping import Float
from torch import Tensor

from attnexp.scores.base import Score, require_equal_dims
from attnexp.scores.logarithm import log_positive


class Polynomial(Score):
    """a(q, k) = log (q.k + c)^p = p log |q.k + c|, for an even p.

    The polynomial kernel of Boser, Guyon and Vapnik (1992), section 4. `degree` is p and `offset`
    is c. Only an even power is a weight for every pair of vectors; an odd one may be negative. A
    key with q.k = -c has the weight zero.

    No parameters. Raises ValueError for a degree that is odd or below 2 and for unequal query and
    key dimensions.

    Example:
        >>> score = Polynomial(query_dim=2, key_dim=2, degree=2, offset=1.0)
        >>> score(torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0, 4.0], [-2.0, 1.0]])).exp()
        tensor([[16.,  1.]])
    """

    compact = True
    of_products = True

    def __init__(self, query_dim: int, key_dim: int, degree: int = 2, offset: float = 1.0) -> None:
        super().__init__(query_dim, key_dim)
        require_equal_dims("polynomial", query_dim, key_dim)
        if degree < 2 or degree % 2:
            raise ValueError(
                f"degree must be 2, 4, 6 or another even number, because a weight cannot be "
                f"negative, got {degree}"
            )
        self.degree = degree
        self.offset = offset

    def compare(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> Float[Tensor, "*batch queries keys"]:
        return self.degree * log_positive((queries @ keys.mT + self.offset).abs())
