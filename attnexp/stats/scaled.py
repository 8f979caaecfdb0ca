"""Statistics of numbers whose sums or squares are out of the range of floats.

Such numbers are multiplied by a power of two, and results are divided by it, without rounding.
Ordinary numbers are not scaled: their results have the same bits.
"""

from collections.abc import Iterable, Sequence
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

LARGE, SMALL = 2.0**400, 2.0**-400
"""Numbers in between need no scaling: floats can hold their squares, and sums of many squares."""

STEP = 2.0**600
"""The factor by which larger and smaller numbers are scaled."""

MOST = float(np.finfo(float).max)
"""The largest float. Larger differences are clipped to it."""


def factors(largest: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the power of two that scales numbers with this largest magnitude, mostly 1."""
    small = (largest < SMALL) & (largest > 0)
    return np.where(largest > LARGE, 1 / STEP, np.where(small, STEP, 1.0))


def scaled(values: Sequence[float]) -> tuple[list[float], float]:
    """Return values times a power of two, and that power."""
    factor = float(factors(np.array(max(map(abs, values), default=0.0))))
    return [value * factor for value in values], factor


def mean(values: Iterable[float]) -> float:
    """Return the mean of one value or more, whose sum may overflow."""
    numbers = list(values)
    try:
        return fmean(numbers)
    except OverflowError:
        return fmean(number / STEP for number in numbers) * STEP


def difference(one: float, other: float) -> float:
    """Return `one - other`, clipped to the largest float."""
    return min(max(one - other, -MOST), MOST)


def mean_row(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of each column of a matrix, scaled where needed."""
    factor = factors(abs(rows).max(axis=0))
    means: NDArray[np.float64] = (rows * factor).mean(axis=0) / factor
    return means
