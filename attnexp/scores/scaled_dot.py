"""The scaled dot product of the transformer."""

from jaxtyping import Float
from torch import Tensor

from attnexp.scores.base import require_equal_dims
from attnexp.scores.inner_product import InnerProduct


class ScaledDot(InnerProduct):
    """a(q, k) = q.k / sqrt(d)

    Vaswani et al. (2017), equation 1. The division keeps the variance of the score at 1 for vectors
    of independent entries with variance 1, whatever d is.

    No parameters. Raises ValueError for unequal query and key dimensions.

    Example:
        >>> score = ScaledDot(query_dim=4, key_dim=4)
        >>> score(torch.tensor([[1.0, 2.0, 3.0, 4.0]]), torch.ones(1, 4))
        tensor([[5.]])
    """

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__(query_dim, key_dim)
        require_equal_dims("scaled_dot", query_dim, key_dim)
        self.scale = query_dim**-0.5

    def project_queries(
        self, queries: Float[Tensor, "*batch queries query_dim"]
    ) -> Float[Tensor, "*batch queries projected"]:
        return queries * self.scale
