"""The dot product."""

from attnexp.scores.base import require_equal_dims
from attnexp.scores.inner_product import InnerProduct


class Dot(InnerProduct):
    """a(q, k) = q.k

    Luong, Pham and Manning (2015), equation 8, "dot". For vectors of independent entries with
    variance 1 the score has variance d, so that the softmax saturates as d grows; see `ScaledDot`.

    No parameters. Raises ValueError for unequal query and key dimensions.
    """

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__(query_dim, key_dim)
        require_equal_dims("dot", query_dim, key_dim)
