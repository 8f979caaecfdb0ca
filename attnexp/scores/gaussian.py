"""The Gaussian kernel of Nadaraya-Watson regression."""

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.scores.distance import DistanceKernel, is_diagonal, squared_distance


class Gaussian(DistanceKernel):
    r"""a(q, k) = -(w \|q - k\|)^2 / 2, divided by d in d dimensions.

    Its softmax over the keys is the estimator of Nadaraya (1964) and Watson (1964). `width` is w,
    the textbook's name for the *inverse* bandwidth: a kernel with standard deviation h has w = 1/h.
    With `width` "learned" it is the parametric attention pooling of Dive into Deep Learning,
    release 0.17, section 10.2.4. Only w^2 enters, so w = 0 (average pooling) is a stationary point
    of every loss. With a width for each dimension, a = -sum_j (w_j (q_j - k_j))^2 / 2d. See
    `DistanceKernel` for the settings and the errors.

    Example:
        >>> score = Gaussian(query_dim=1, key_dim=1, width=2.0)
        >>> score(torch.tensor([[1.0]]), torch.tensor([[2.0], [4.0]]))
        tensor([[ -2., -18.]])
    """

    def compare(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> Float[Tensor, "*batch queries keys"]:
        width = self.width
        if is_diagonal(width):
            return squared_distance(width * queries, width * keys) / -2
        return -(width**2) / 2 * squared_distance(queries, keys)

    def as_dot_product(
        self,
        queries: Float[Tensor, "*batch queries projected"],
        keys: Float[Tensor, "*batch keys projected"],
    ) -> tuple[Float[Tensor, "*batch queries inner"], Float[Tensor, "*batch keys inner"]]:
        r"""Return q' = s^2 [q, 1] and k' = [k, -\|k\|^2 / 2] with s = w / sqrt(d).

        q'.k' = -\|s q - s k\|^2 / 2 + \|s q\|^2 / 2, and the last term cancels in the softmax. With
        a width for each dimension, k' ends in the d squares themselves, and q' in d numbers. The
        width is in the queries alone, so that keys which are data need no gradient. The coordinates
        are centred on the mean key first: far from zero, the difference of the squares would lose
        its digits. It still loses some if the range R of the keys is many widths: in float32 a
        score was off by up to 4e-8 (w R)^2. Attention by tiles uses the products of keys near each
        other alone, and `compare` has no such error.
        """
        centre = keys.mean(dim=-2, keepdim=True)
        centred_queries, centred_keys = queries - centre, keys - centre
        squares, scale = centred_keys.square(), self.width**2 / queries.shape[-1]
        if is_diagonal(scale):
            return (
                torch.cat([centred_queries * scale, scale.expand_as(centred_queries)], dim=-1),
                torch.cat([centred_keys, squares / -2], dim=-1),
            )
        return (
            torch.cat([centred_queries, torch.ones_like(queries[..., :1])], dim=-1) * scale,
            torch.cat([centred_keys, squares.sum(dim=-1, keepdim=True) / -2], dim=-1),
        )
