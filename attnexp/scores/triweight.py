"""The triweight kernel."""

from jaxtyping import Float
from torch import Tensor

from attnexp.scores.compact import CompactKernel
from attnexp.scores.parabola import Parabola


class Triweight(CompactKernel):
    r"""a(q, k) = 3 log max(0, 1 - (w \|q - k\|)^2 / d): the cube of the parabola.

    Silverman (1986), equation 4.6. It falls to 0 with slope and curvature 0.

    The kernel reaches as far as 1/w. `width` is w, a number or "learned". See `DistanceKernel` for
    the settings and the errors.

    Example:
        >>> score = Triweight(query_dim=1, key_dim=1, width=1.0)
        >>> score(torch.tensor([[0.0]]), torch.tensor([[0.0], [0.5], [2.0]])).exp()
        tensor([[1.0000, 0.4219, 0.0000]])
    """

    @staticmethod
    def log_height(share: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
        return 3 * Parabola.log_height(share)
