"""The Gaussian kernel of Nadaraya-Watson regression, with a width that stays fixed."""

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.scores.base import Score, require_equal_dims, require_positive
from attnexp.scores.distance import Width, is_diagonal, squared_distance


class Gaussian(Score):
    r"""a(q, k) = -(w \|q - k\|)^2 / 2, divided by d in d dimensions; w is fixed.

    Its softmax over the keys is the estimator of Nadaraya (1964) and Watson (1964). `width` is w,
    the textbook's name for the *inverse* bandwidth: a kernel with standard deviation h has w = 1/h,
    and a larger w takes in fewer neighbours. Unit: one over the unit of x.

    Raises ValueError for a width that is not positive and for unequal query and key dimensions.

    Example:
        >>> score = Gaussian(query_dim=1, key_dim=1, width=2.0)
        >>> score(torch.tensor([[1.0]]), torch.tensor([[2.0], [4.0]]))
        tensor([[ -2., -18.]])
    """

    def __init__(self, query_dim: int, key_dim: int, width: float = 1.0) -> None:
        super().__init__(query_dim, key_dim)
        require_equal_dims("gaussian", query_dim, key_dim)
        require_positive("width", width)
        self.width = width

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


def log_gaussian(
    queries: Float[Tensor, "*batch queries dim"],
    keys: Float[Tensor, "*batch keys dim"],
    width: Width,
) -> Float[Tensor, "*batch queries keys"]:
    r"""Return -(w \|q - k\|)^2 / 2d for every pair.

    With a width for each dimension, -\|w (q - k)\|^2 / 2d, w multiplying dimension by dimension.
    """
    if is_diagonal(width):
        return squared_distance(width * queries, width * keys) / -2
    return -(width**2) / 2 * squared_distance(queries, keys)


def gaussian_as_dot_product(
    queries: Float[Tensor, "*batch queries dim"],
    keys: Float[Tensor, "*batch keys dim"],
    width: Width,
) -> tuple[Float[Tensor, "*batch queries inner"], Float[Tensor, "*batch keys inner"]]:
    r"""Return q' = s^2 [q, 1] and k' = [k, -\|k\|^2 / 2] with s = w / sqrt(d).

    q'.k' = -\|s q - s k\|^2 / 2 + \|s q\|^2 / 2, and the last term cancels in the softmax. With a
    width a dimension, k' ends in the d squares themselves, and q' in d numbers. The width is in the
    queries alone, so that keys which are data need no gradient. The coordinates are centred on the
    mean key first: far from zero, the difference of the squares would lose its digits.
    """
    centre = keys.mean(dim=-2, keepdim=True)
    near_queries, near_keys = queries - centre, keys - centre
    squares, scale = near_keys.square(), width**2 / queries.shape[-1]
    if is_diagonal(scale):
        return (
            torch.cat([near_queries * scale, scale.expand_as(near_queries)], dim=-1),
            torch.cat([near_keys, squares / -2], dim=-1),
        )
    return (
        torch.cat([near_queries, torch.ones_like(queries[..., :1])], dim=-1) * scale,
        torch.cat([near_keys, squares.sum(dim=-1, keepdim=True) / -2], dim=-1),
    )
