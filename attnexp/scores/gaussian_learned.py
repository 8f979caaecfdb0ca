"""The Gaussian kernel of Nadaraya-Watson regression, with a width that is learned."""

from jaxtyping import Float
from torch import Tensor

from attnexp.scores.base import Score, require_equal_dims
from attnexp.scores.distance import learned_width
from attnexp.scores.gaussian import gaussian_as_dot_product, log_gaussian


class GaussianLearned(Score):
    r"""a(q, k) = -(w \|q - k\|)^2 / 2, divided by d in d dimensions; w is learned.

    The parametric attention pooling of Dive into Deep Learning, release 0.17, section 10.2.4. Its w
    starts from U(0, 1), or from `initial_width` where one is given. Only w^2 enters, so w and -w
    give the same kernel, and w = 0 (average pooling) is a stationary point of every loss. Unit of
    w: one over the unit of x.

    Where each training point is hidden from itself, learning w amounts to choosing the bandwidth
    h = 1/w by leave-one-out cross-validation.

    With `per_dimension` there is a width w_j for each dimension j, a = -sum_j (w_j (q_j - k_j))^2 /
    2d: the diagonal bandwidth of multivariate kernel regression (Wand and Jones 1995, chapter 4;
    chosen by leave-one-out, Hall, Li and Racine 2007). Where x is standardised, a width near 0 says
    that its dimension does not matter.

    Raises ValueError for unequal query and key dimensions.

    Example:
        >>> score = GaussianLearned(query_dim=1, key_dim=1, initial_width=2.0)
        >>> score(torch.tensor([[1.0]]), torch.tensor([[2.0], [4.0]])).tolist()
        [[-2.0, -18.0]]
    """

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        initial_width: float | None = None,
        per_dimension: bool = False,
    ) -> None:
        super().__init__(query_dim, key_dim)
        require_equal_dims("gaussian_learned", query_dim, key_dim)
        self.width = learned_width(query_dim, initial_width, per_dimension)

    def compare(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> Float[Tensor, "*batch queries keys"]:
        return log_gaussian(queries, keys, self.width)

    def as_dot_product(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> tuple[Float[Tensor, "*batch queries inner"], Float[Tensor, "*batch keys inner"]]:
        return gaussian_as_dot_product(queries, keys, self.width)
