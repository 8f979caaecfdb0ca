"""The additive score of Bahdanau's decoder."""

from typing import cast

from jaxtyping import Float
from torch import Tensor, nn

from attnexp.scores.base import Score, require_positive


class Additive(Score):
    """a(q, k) = w_v' tanh(W_q q + W_k k), without biases.

    Bahdanau, Cho and Bengio (2015), appendix A.1.2, which calls the parameters v_a, W_a and U_a.
    W_q is (hidden_dim, query_dim), W_k is (hidden_dim, key_dim) and w_v has `hidden_dim` entries.

    The score cannot be written as a dot product, so comparing takes the memory of queries x keys x
    hidden_dim numbers.

    Raises ValueError for a hidden_dim below 1.

    Example:
        >>> score = Additive(query_dim=2, key_dim=3, hidden_dim=8)
        >>> score(torch.ones(5, 2), torch.ones(7, 3)).shape
        torch.Size([5, 7])
    """

    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int = 64) -> None:
        super().__init__(query_dim, key_dim)
        require_positive("hidden_dim", hidden_dim)
        self.W_q = nn.Linear(query_dim, hidden_dim, bias=False)
        self.W_k = nn.Linear(key_dim, hidden_dim, bias=False)
        self.w_v = nn.Linear(hidden_dim, 1, bias=False)

    def project_queries(
        self, queries: Float[Tensor, "*batch queries query_dim"]
    ) -> Float[Tensor, "*batch queries projected"]:
        return cast(Tensor, self.W_q(queries))

    def project_keys(
        self, keys: Float[Tensor, "*batch keys key_dim"]
    ) -> Float[Tensor, "*batch keys projected"]:
        return cast(Tensor, self.W_k(keys))

    def compare(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> Float[Tensor, "*batch queries keys"]:
        sums = queries.unsqueeze(-2) + keys.unsqueeze(-3)
        return cast(Tensor, self.w_v(sums.tanh())).squeeze(-1)
