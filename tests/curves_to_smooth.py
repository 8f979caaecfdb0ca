"""Thirty generated series and curves, and the errors of a kernel on them, by NumPy alone.

As a function of the width these errors have several minima.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Points = tuple[NDArray[np.float64], NDArray[np.float64]]


def _season(period: float, count: int, seed: int, trend: float = 0.0, noise: float = 0.3) -> Points:
    draw, x = np.random.default_rng(seed), np.arange(count, dtype=float)
    y = np.sin(2 * np.pi * x / period) + trend * x / count + noise * draw.normal(size=count)
    return x[:, None], y


def _uneven(count: int, seed: int, noise: float = 0.3, skew: float = 0.0) -> Points:
    draw = np.random.default_rng(seed)
    x = draw.exponential(size=count) ** skew if skew else draw.uniform(0, 1, count)
    x = np.sort(x)
    return x[:, None], np.sin(12 * x / x.max()) + noise * draw.normal(size=count)


def _cycles(count: int, seed: int) -> Points:
    draw, x = np.random.default_rng(seed), np.arange(count, dtype=float)
    phase = np.cumsum(2 * np.pi / 11 + 0.08 * draw.normal(size=count))
    return x[:, None], np.exp(np.sin(phase)) + 0.1 * draw.normal(size=count)


def _steps(count: int, seed: int) -> Points:
    draw, x = np.random.default_rng(seed), np.arange(count, dtype=float)
    return x[:, None], np.floor(6 * x / count) % 3 + 0.4 * draw.normal(size=count)


def _bursts(count: int, seed: int) -> Points:
    draw, x = np.random.default_rng(seed), np.arange(count, dtype=float)
    y = draw.normal(size=count) * 0.2
    for start in draw.integers(0, count - 6, max(2, count // 40)):
        y[start : start + 6] += 4
    return x[:, None], y


def _repeated(count: int, seed: int, values: int) -> Points:
    draw = np.random.default_rng(seed)
    x = np.sort(draw.integers(0, values, count)).astype(float)
    return x[:, None], np.cos(x / 3) + 0.5 * draw.normal(size=count)


def _two(count: int, seed: int, waves: float) -> Points:
    draw = np.random.default_rng(seed)
    x = draw.uniform(0, 1, (count, 2))
    y = np.sin(waves * x[:, 0]) + x[:, 1] ** 2 + 0.2 * draw.normal(size=count)
    return x, y


CURVES: dict[str, Callable[[], Points]] = {
    "season of 12, 5 periods": lambda: _season(12, 60, 0),
    "season of 12, 12 periods": lambda: _season(12, 144, 1, trend=4),
    "season of 12, 20 periods": lambda: _season(12, 240, 2, noise=0.1),
    "season of 12, 40 periods": lambda: _season(12, 480, 3, trend=2),
    "season of 12 and a steep trend": lambda: _season(12, 180, 4, trend=20, noise=0.2),
    "season of 7, 30 periods": lambda: _season(7, 210, 5),
    "season of 5, 40 periods": lambda: _season(5, 200, 6, noise=0.1),
    "season of 4, 40 periods": lambda: _season(4, 160, 7, noise=0.05),
    "season of 24, 10 periods": lambda: _season(24, 240, 8, noise=0.5),
    "season of 52, 9 periods": lambda: _season(52, 468, 9, noise=0.5),
    "season lost in noise": lambda: _season(12, 96, 10, noise=1.5),
    "trend alone": lambda: _season(1e9, 120, 11, trend=5),
    "noise alone": lambda: _season(1e9, 100, 12, noise=1.0),
    "cycles": lambda: _cycles(200, 13),
    "long cycles": lambda: _cycles(450, 14),
    "steps": lambda: _steps(90, 15),
    "many steps": lambda: _steps(400, 16),
    "bursts": lambda: _bursts(150, 17),
    "rare bursts": lambda: _bursts(420, 18),
    "curve of 30 points": lambda: _uneven(30, 19),
    "curve of 50 points": lambda: _uneven(50, 20),
    "curve of 300 points": lambda: _uneven(300, 21, noise=0.1),
    "skewed inputs": lambda: _uneven(120, 22, skew=2),
    "very skewed inputs": lambda: _uneven(200, 23, noise=0.1, skew=3),
    "repeated inputs": lambda: _repeated(200, 24, 30),
    "few inputs, often repeated": lambda: _repeated(150, 25, 8),
    "two inputs": lambda: _two(150, 26, 6),
    "two inputs, fine waves": lambda: _two(400, 27, 25),
    "1,000 points of a season": lambda: _season(12, 1000, 28, trend=3),
    "3,000 points of a curve": lambda: _uneven(3000, 29),
}
"""The inputs, a row each, and the values, by what they are."""

LARGE = tuple(name for name, curve in CURVES.items() if len(curve()[0]) > 300)
"""Those that take seconds."""


def gaussian(squares, width):
    return np.exp(-(width**2) * (squares - squares.min(axis=1, keepdims=True)) / 2)


def by_mean(x, asked, y, weights):
    return weights @ y / weights.sum(axis=1)


DETERMINED = 1e-12
"""The least weighted spread of inputs, in squares of their distance, at which a line is certain."""


def by_line(x, asked, y, weights):
    """The line of least squares through all but each point, infinite where none is determined.

    Where one point counts alone but for rounding, a line has no slope that two programs share.
    """
    shares = weights / weights.sum(axis=1, keepdims=True)
    away = x[None] - x[asked, None]
    mean, level = np.einsum("ij,ijk->ik", shares, away), shares @ y
    apart = away - mean[:, None]
    moved = shares[..., None] * apart
    far = np.einsum("ij,ijk->i", shares, away**2)
    ridge = far * (DETERMINED**2 if x.shape[1] == 1 else 0.01)
    spread = moved.transpose(0, 2, 1) @ apart + ridge[:, None, None] * np.eye(x.shape[1])
    covariance = moved.transpose(0, 2, 1) @ (y[None] - level[:, None])[..., None]
    answers = level - (np.linalg.solve(spread, covariance)[..., 0] * mean).sum(axis=1)
    certain = np.trace(spread, axis1=1, axis2=2) >= DETERMINED * far
    return np.where(certain, answers, np.inf)


def error_of(x, y, fit, most=3000):
    """The leave-one-out error at a width, of at most so many of the points, evenly spaced."""
    asked = np.arange(len(x))[:: -(-len(x) // most)]
    squares = ((x[asked, None] - x[None]) ** 2).mean(axis=2)
    squares[np.arange(len(asked)), asked] = np.inf
    return lambda width: float(
        np.mean((fit(x, asked, y, gaussian(squares, width)) - y[asked]) ** 2)
    )


def spread_of(x):
    unique = np.unique(x, axis=0)
    if x.shape[1] == 1:
        gap = np.diff(unique[:, 0])
    else:
        apart = np.sqrt(((unique[:, None] - unique[None]) ** 2).mean(axis=2))
        gap = (apart + np.diag(np.full(len(unique), np.inf))).min(axis=1)
    return math.sqrt(x.var(axis=0).mean()), float(np.median(gap))


def best_of_grid(error, deviation, gap):
    """The lowest of 250 widths, and of 60 more between the neighbours of the best."""
    grid = np.geomspace(0.03 / deviation, 30 / gap, 250)
    best = int(np.argmin([error(width) for width in grid]))
    fine = np.geomspace(grid[max(best - 1, 0)], grid[min(best + 1, 249)], 60)
    return min(error(width) for width in fine)
