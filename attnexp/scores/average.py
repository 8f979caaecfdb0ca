"""Average pooling, the baseline that gives every key the same weight."""

from jaxtyping import Float
from torch import Tensor

from attnexp.scores.base import Score


class Average(Score):
    """a(q, k) = 0, so that each of n keys has the weight 1/n.

    No parameters. Every other score should do better than this baseline.

    Example:
        >>> score = Average(query_dim=2, key_dim=2)
        >>> score(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
        tensor([[0., 0.]])
    """

    def compare(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected_key"],
    ) -> Float[Tensor, "*batch queries keys"]:
        return queries.new_zeros(*queries.shape[:-1], keys.shape[-2])

    def as_dot_product(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected_key"],
    ) -> tuple[Float[Tensor, "*batch queries 1"], Float[Tensor, "*batch keys 1"]]:
        return queries.new_zeros(*queries.shape[:-1], 1), keys.new_zeros(*keys.shape[:-1], 1)
