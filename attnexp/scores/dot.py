"""The dot product."""

from attnexp.scores.base import require_equal_dims
from attnexp.scores.inner_product import InnerProduct


class Dot(InnerProduct):
    """a(q, k) = q.k

    Luong, Pham and Manning (2015), equation 8, "dot". For vectors of independent entries with
    variance 1 the score has variance d, so that the softmax saturates as d grows; see `ScaledDot`.

    No parameters. Raises ValueError for unequal query and key dimensions.

    Example:
        >>> score = Dot(query_dim=2, key_dim=2)
        >>> score(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
        tensor([[11.,  2.]])
    """

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__(query_dim, key_dim)
        require_equal_dims("dot", query_dim, key_dim)
