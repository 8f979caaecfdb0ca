"""The cosine of the angle between query and key, times a learned strength."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnexp.scores.base import require_equal_dims
from attnexp.scores.inner_product import InnerProduct


class Cosine(InnerProduct):
    r"""a(q, k) = s cos(q, k) = s q.k / (\|q\| \|k\|), with a learned s.

    Content addressing in Graves, Wayne and Danihelka (2014), equations 5 and 6; s is their key
    strength beta, here one learned number that starts at `initial_strength`. A zero vector has
    cosine 0 with everything. For scalars the cosine is only the sign of q k, so this score needs
    features.

    Raises ValueError for unequal query and key dimensions.

    Example:
        >>> score = Cosine(query_dim=2, key_dim=2, initial_strength=10.0)
        >>> score(torch.tensor([[3.0, 0.0]]), torch.tensor([[2.0, 0.0], [0.0, 5.0]])).tolist()
        [[10.0, 0.0]]
    """

    def __init__(self, query_dim: int, key_dim: int, initial_strength: float = 10.0) -> None:
        super().__init__(query_dim, key_dim)
        require_equal_dims("cosine", query_dim, key_dim)
        self.strength = nn.Parameter(torch.tensor(float(initial_strength)))

    def project_queries(
        self, queries: Float[Tensor, "*batch queries query_dim"]
    ) -> Float[Tensor, "*batch queries projected"]:
        return self.strength * unit(queries)

    def project_keys(
        self, keys: Float[Tensor, "*batch keys key_dim"]
    ) -> Float[Tensor, "*batch keys projected"]:
        return unit(keys)


def unit(vectors: Float[Tensor, "*batch dim"]) -> Float[Tensor, "*batch dim"]:
    r"""Return v / \|v\|, and the zero vector for zero, with finite gradients in every precision.

    The largest entry is divided out first, so that no square overflows or vanishes.
    """
    largest = vectors.detach().abs().amax(dim=-1, keepdim=True)
    nonzero = largest > 0
    scaled = vectors / largest.where(nonzero, 1.0)
    squared = scaled.square().sum(dim=-1, keepdim=True)
    return scaled / squared.where(nonzero, 1.0).sqrt()
