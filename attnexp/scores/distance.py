"""The distance, and the base of its kernels, whose width is fixed or learned."""

from typing import Literal, TypeGuard

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attnexp.scores.base import Score, require_equal_dims, require_positive

Width = float | Float[Tensor, ""] | Float[Tensor, " dim"]

NARROW = 2.0
"""The initial width of each dimension: half a standard deviation includes only the nearer
neighbours, and includes some even for a compact kernel."""


class DistanceKernel(Score):
    """A kernel of the distance between q and k, in units of its width.

    `width` is w, by which the distance is multiplied: a larger w includes fewer neighbours. Its
    unit is one over the unit of x.

    With `width` "learned", w is a parameter. It starts from U(0, 1), or at `initial_width` if one
    is given; w and -w give the same kernel. If each training point is hidden from itself, learning
    w amounts to choosing the bandwidth 1/w by leave-one-out cross-validation.

    With `per_dimension` there is a width w_j for each dimension, by which q_j - k_j is multiplied:
    the diagonal bandwidth of multivariate kernel regression (Wand and Jones 1995, chapter 4; chosen
    by leave-one-out, Hall, Li and Racine 2007). If x is standardised, a width near 0 says that its
    dimension does not matter. Without an `initial_width` all widths then start at `NARROW`, and
    those of dimensions that do not matter fall to 0. From a smaller start the width of a dimension
    that matters may fall to 0, too, because 0 is a stationary point of every loss.

    Kernel regression checks a learned width after training, unless `check_width` is false: it tries
    a row of other widths, and training goes on from one whose leave-one-out error is lower.

    Raises ValueError for a width that is not positive, for `initial_width` or `per_dimension` with
    a width that is not learned, and for unequal query and key dimensions.
    """

    even = frozenset({"width"})

    width: Width

    def __init__(
        self,
        query_dim: int,
        key_dim: int,
        width: float | Literal["learned"] = 1.0,
        initial_width: float | None = None,
        per_dimension: bool = False,
        check_width: bool = True,
    ) -> None:
        super().__init__(query_dim, key_dim)
        self.check_width = check_width
        require_equal_dims(type(self).__name__.lower(), query_dim, key_dim)
        if width == "learned":
            shape = (query_dim,) if per_dimension else ()
            if per_dimension and initial_width is None:
                initial_width = NARROW
            self.width = nn.Parameter(
                torch.rand(shape)
                if initial_width is None
                else torch.full(shape, float(initial_width))
            )
            return
        if isinstance(width, str):
            raise ValueError(f"width must be a number or learned, got {width}")
        require_positive("width", width)
        if initial_width is not None or per_dimension:
            raise ValueError(
                f"initial_width and per_dimension need width=learned, got the width {width}"
            )
        self.width = width


def is_diagonal(width: Width) -> TypeGuard[Float[Tensor, " dim"]]:
    """Return whether there is a width for each dimension."""
    return isinstance(width, Tensor) and width.dim() == 1


def squared_distance(
    queries: Float[Tensor, "*batch queries dim"], keys: Float[Tensor, "*batch keys dim"]
) -> Float[Tensor, "*batch queries keys"]:
    r"""Return \|q - k\|^2 / d for every pair.

    The textbook defines its kernels for scalars, where d = 1 and this is (q - k)^2. In d dimensions
    the squared distance between random vectors grows in proportion to d. Dividing by d makes a
    width that suits scalars suit hidden states too.
    """
    difference = queries.unsqueeze(-2) - keys.unsqueeze(-3)
    squared = difference.square()
    # the mean over an axis of one number takes longer than the rest of this function
    return squared.squeeze(-1) if squared.shape[-1] == 1 else squared.mean(dim=-1)


def distance(
    queries: Float[Tensor, "*batch queries dim"], keys: Float[Tensor, "*batch keys dim"]
) -> Float[Tensor, "*batch queries keys"]:
    r"""Return \|q - k\| / sqrt(d) for every pair, with gradient zero if the two are equal."""
    squared = squared_distance(queries, keys)
    apart = squared > 0
    return torch.where(apart, squared, 1.0).sqrt().where(apart, 0.0)


def distance_in_widths(
    queries: Float[Tensor, "*batch queries dim"],
    keys: Float[Tensor, "*batch keys dim"],
    width: Width,
) -> Float[Tensor, "*batch queries keys"]:
    r"""Return \|w (q - k)\| / sqrt(d) for every pair, w a number or one for each dimension."""
    if is_diagonal(width):
        return distance(width * queries, width * keys)
    return (width * distance(queries, keys)).abs()
