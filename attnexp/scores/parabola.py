"""The parabola kernel of Epanechnikov."""

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.scores.compact import CompactKernel


class Parabola(CompactKernel):
    r"""a(q, k) = log max(0, 1 - (w \|q - k\|)^2 / d), the kernel of Epanechnikov (1969).

    It has the least mean integrated squared error of all kernels that are never negative
    (Silverman 1986, section 3.3.2). Dive into Deep Learning gives the name to another kernel, the
    triangle: see `Epanechnikov`.

    The kernel reaches as far as 1/w. `width` is w, a number or "learned". See `DistanceKernel` for
    the settings and the errors.

    Example:
        >>> score = Parabola(query_dim=1, key_dim=1, width=1.0)
        >>> score(torch.tensor([[0.0]]), torch.tensor([[0.0], [0.5], [2.0]])).exp()
        tensor([[1.0000, 0.7500, 0.0000]])
    """

    @staticmethod
    def log_height(share: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        return torch.log1p(-share.square())
