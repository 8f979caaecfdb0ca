"""The bilinear score."""

from jaxtyping import Float
from torch import Tensor, nn

from attnexp.scores.inner_product import InnerProduct


class Bilinear(InnerProduct):
    """a(q, k) = q' W k, with a learned W of shape (query_dim, key_dim).

    Luong, Pham and Manning (2015), equation 8, "general". W k is a projection of the key alone.

    Example:
        >>> score = Bilinear(query_dim=2, key_dim=3)
        >>> score(torch.ones(5, 2), torch.ones(7, 3)).shape
        torch.Size([5, 7])
    """

    def __init__(self, query_dim: int, key_dim: int) -> None:
        super().__init__(query_dim, key_dim)
        self.W = nn.Linear(key_dim, query_dim, bias=False)

    def project_keys(
        self, keys: Float[Tensor, "*batch keys key_dim"]
    ) -> Float[Tensor, "*batch keys projected"]:
        return self.W(keys)
