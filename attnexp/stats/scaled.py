"""Statistics of numbers whose sums or squares a float cannot hold.

Numbers are multiplied by a power of two if that is needed, and results are divided by it. It
rounds nothing, and ordinary numbers are not touched, so their results have the same bits.
"""

from collections.abc import Iterable, Sequence
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

LARGE, SMALL = 2.0**400, 2.0**-400
"""Numbers in between have squares, and sums of many squares, that a float can hold."""

STEP = 2.0**600
"""The factor that brings a larger or smaller number back to where squares can be held."""

MOST = float(np.finfo(float).max)
"""The largest float. A difference beyond it counts as it."""


def factors(largest: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the power of two for numbers whose largest magnitude is given; it is mostly 1."""
    small = (largest < SMALL) & (largest > 0)
    return np.where(largest > LARGE, 1 / STEP, np.where(small, STEP, 1.0))


def scaled(values: Sequence[float]) -> tuple[list[float], float]:
    """Return values times a power of two, and that power."""
    factor = float(factors(np.array(max(map(abs, values), default=0.0))))
    return [value * factor for value in values], factor


def mean(values: Iterable[float]) -> float:
    """Return the mean of one value or more, whose sum may be beyond the largest float."""
    numbers = list(values)
    try:
        return fmean(numbers)
    except OverflowError:
        return fmean(number / STEP for number in numbers) * STEP


def difference(one: float, other: float) -> float:
    """Return `one - other`, at most the largest float."""
    return min(max(one - other, -MOST), MOST)


def mean_row(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of each column of a matrix."""
    factor = factors(abs(rows).max(axis=0))
    means: NDArray[np.float64] = (rows * factor).mean(axis=0) / factor
    return means
