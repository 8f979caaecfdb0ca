"""The error of two kernel regressions at an end of the data, by the number of points."""

import math
from collections.abc import Iterator, Sequence
from statistics import linear_regression

import torch

from attnexp.attention.pooling import AttentionPooling
from attnexp.estimators.base import EstimatorFactory
from attnexp.estimators.local_constant import LocalConstant
from attnexp.estimators.local_linear import LocalLinear
from attnexp.scores.gaussian import Gaussian

ESTIMATORS: dict[str, EstimatorFactory] = {
    "local constant": LocalConstant,
    "local linear": LocalLinear,
}
"""Estimators, which get the weights of the same kernel."""

POINTS = {"at the end": 5.0, "inside": 2.5}
"""Where the curve is asked for; points are uniform on 0 <= x <= 5."""

NOISE = 0.5
"""The standard deviation of the noise."""

DRAWS, AT_ONCE = 100, 10
"""Sets of points over which an error is the mean, and those that are computed together."""

LEAST, MOST, GROWTH = 2.0, 64.0, math.sqrt(2)
"""The widths of the kernel that are tried: the least, the most, and the factor between two."""


def local_linear_at_the_ends(seed: int, sizes: Sequence[int]) -> Iterator[tuple[str, float, float]]:
    """Yield the mean squared error of two estimators by the number of points n, and its slope.

    The error at a point is (f(x) - g(x))^2, with g the curve 2 sin(x) + x^0.8 without noise, in the
    mean over the same sets of n points for both, at the width where that is smallest. The slope of
    log error against log n is that of least squares, at the largest n, and `ratio` is the error of
    the local linear estimator over that of the local constant one.
    """
    generator = torch.Generator().manual_seed(seed)
    widths = [LEAST]
    while widths[-1] * GROWTH <= MOST:
        widths.append(widths[-1] * GROWTH)
    queries = torch.tensor([*POINTS.values()], dtype=torch.float64).view(1, -1, 1)
    truth = 2 * queries.sin() + queries**0.8
    errors: dict[tuple[str, str], list[float]] = {}
    for n in sizes:
        squares = {name: torch.zeros(len(widths), len(POINTS), 1) for name in ESTIMATORS}
        for _ in range(DRAWS // AT_ONCE):
            x = 5 * torch.rand(AT_ONCE, n, 1, generator=generator, dtype=torch.float64)
            e = torch.randn(x.shape, generator=generator, dtype=torch.float64)
            y = 2 * x.sin() + x**0.8 + NOISE * e
            for name, estimator in ESTIMATORS.items():
                for i, width in enumerate(widths):
                    pooling = AttentionPooling(Gaussian(1, 1, width), 1, estimator=estimator)
                    answers, _ = pooling(queries.expand(AT_ONCE, -1, -1), x, y, need_weights=False)
                    squares[name][i] += (answers - truth).square().mean(dim=0) * AT_ONCE / DRAWS
        for name, found in squares.items():
            for place, best in zip(POINTS, found.squeeze(-1).amin(dim=0).tolist(), strict=True):
                errors.setdefault((name, place), []).append(best)
                yield f"{name}, {place}", n, best
    logs = [math.log(n) for n in sizes]
    for (name, place), found_errors in errors.items():
        slope, _ = linear_regression(logs, [math.log(error) for error in found_errors])
        yield f"slope, {name}, {place}", sizes[-1], slope
    for place in POINTS:
        one, other = errors["local linear", place], errors["local constant", place]
        for n, error, usual in zip(sizes, one, other, strict=True):
            yield f"ratio, {place}", n, error / usual
