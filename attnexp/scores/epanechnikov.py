"""The triangle kernel, which Dive into Deep Learning calls Epanechnikov."""

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.scores.compact import CompactKernel


class Epanechnikov(CompactKernel):
    r"""a(q, k) = log max(0, 1 - w \|q - k\| / sqrt(d)), the triangle kernel.

    This is the kernel that Dive into Deep Learning, release 1.0, section 11.2, calls Epanechnikov.
    The kernel of Epanechnikov (1969) is another one: see `Parabola`.

    The kernel reaches as far as 1/w. `width` is w, a number or "learned". See `DistanceKernel` for
    the settings and the errors.

    Example:
        >>> score = Epanechnikov(query_dim=1, key_dim=1, width=1.0)
        >>> score(torch.tensor([[0.0]]), torch.tensor([[0.0], [0.5], [2.0]])).exp()
        tensor([[1.0000, 0.5000, 0.0000]])
    """

    @staticmethod
    def log_height(share: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        return torch.log1p(-share)
