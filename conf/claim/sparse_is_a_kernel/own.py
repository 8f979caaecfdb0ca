"""Sparse normalizers compared with compact kernels of the widths that they choose."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from attnexp.normalizers.entmax15 import Entmax15
from attnexp.normalizers.softmax import Softmax
from attnexp.normalizers.sparsemax import Sparsemax
from attnexp.scores.biweight import Biweight
from attnexp.scores.parabola import Parabola


def sparse_is_a_kernel(
    seed: int, keys: Sequence[int], strength: float
) -> Iterator[tuple[str, float, float]]:
    """Yield the largest difference between weights that ought to be the same, by the keys n.

    Keys and queries are random points of a line. With a fixed width the normalized ReLU of
    1 - (d/h)^2, d the distance, is compared with the kernel of Epanechnikov, `Parabola`. With an
    adaptive width sparsemax of -b d^2, b the `strength`, is compared with that kernel, and
    entmax 1.5 with `Biweight`, each at a width of its own for each query: that at which its
    threshold tau lies, h^2 = -tau / b. `range of widths` is the largest of those widths of
    sparsemax over the smallest: 1 would be a fixed one.
    """
    generator = torch.Generator().manual_seed(seed)
    softmax = Softmax(heads=1)
    for n in keys:
        k = torch.randn(n, 1, generator=generator, dtype=torch.float64)
        q = torch.randn(n, 1, generator=generator, dtype=torch.float64)
        squares = (q - k.mT).square()
        height = (1 - squares).clamp(min=0)
        reached = height.sum(dim=-1) > 0
        by_relu = height[reached] / height[reached].sum(dim=-1, keepdim=True)
        fixed = softmax(Parabola(1, 1, width=1.0)(q, k))[reached]
        yield "normalized relu, fixed width", n, float((by_relu - fixed).abs().max())
        scores = -strength * squares
        sparse = Sparsemax(heads=1)(scores)
        widths = width_of(squares, sparse, strength, power=1).sqrt()
        own = [softmax(Parabola(1, 1, float(1 / h))(q[[i]], k)) for i, h in enumerate(widths)]
        yield "sparsemax, adaptive width", n, float((sparse - torch.cat(own)).abs().max())
        entmax = Entmax15(heads=1)(scores)
        halves = width_of(squares, entmax, strength, power=2).sqrt()
        own = [softmax(Biweight(1, 1, float(1 / h))(q[[i]], k)) for i, h in enumerate(halves)]
        yield "entmax 1.5, adaptive width", n, float((entmax - torch.cat(own)).abs().max())
    yield "range of widths", keys[-1], float(widths.max() / widths.min())


def width_of(
    squares: Float[Tensor, "queries keys"],
    weights: Float[Tensor, "queries keys"],
    strength: float,
    power: int,
) -> Float[Tensor, " queries"]:
    """Return h^2 = -tau power / b of each query, from w_i = max(0, -b d_i^2 / power - tau)^power.

    Every key with weight tells tau; the nearest one does with the fewest rounding errors.
    """
    nearest = squares.argmin(dim=-1, keepdim=True)
    root = weights.gather(-1, nearest) ** (1 / power)
    tau = -strength * squares.gather(-1, nearest) / power - root
    return (-tau * power / strength).squeeze(-1)
