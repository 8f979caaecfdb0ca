"""Comparable means of rows that have unlike seeds."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from attnexp.stats.paired import Values, seed_means
from attnexp.stats.scaled import MOST, factors, mean


def levels(rows: Sequence[Values]) -> list[float | None]:
    """Return the mean that each row would have at all seeds, by least squares.

    The model is a_r + c_k for row r and cell k, a block of a seed. It minimizes

        sum over the values of w_k (y_rk - a_r - c_k)^2,   w_k = 1 / number of blocks of the seed

    and the mean of row r is a_r + sum_k w_k c_k / sum_k w_k. This is the plain mean if all rows
    have the same cells. The means of two rows differ by the mean difference on shared cells.

    Rows connected by shared cells are a group. None for rows outside the largest group: the group
    with the most rows of two seeds or more, then the most rows, then the smallest seed.
    """
    means = [mean(seed_means(values)) if values else None for values in rows]
    cells = [{(seed, block) for seed, own in row.items() for block in own} for row in rows]
    every = sorted(set().union(*cells))
    there = np.array([[cell in own for cell in every] for own in cells], dtype=bool)
    if not every or there[there.any(axis=1)].all():
        return means
    group = _largest(there, [len(row) > 1 for row in rows])
    values = np.array([[row.get(s, {}).get(b, 0.0) for s, b in every] for row in rows])
    _, seed, blocks = np.unique([s for s, _ in every], return_inverse=True, return_counts=True)
    own = there[group].any(axis=0)
    weights = (1 / blocks[seed])[own]
    fitted = iter(_fitted(values[np.ix_(group, own)], there[np.ix_(group, own)], weights).tolist())
    return [next(fitted) if inside else None for inside in group]


def _largest(
    there: Bool[np.ndarray, "rows cells"], able: Sequence[bool]
) -> Bool[np.ndarray, "rows"]:
    """Return which rows are in the largest group: see `levels`. `able` have two seeds or more."""
    groups = []
    left = there.any(axis=1)
    while left.any():
        group = np.arange(len(there)) == left.argmax()
        while (grown := there[:, there[group].any(axis=0)].any(axis=1)).sum() > group.sum():
            group = grown
        groups.append(group)
        left &= ~group
    return max(groups, key=lambda g: ((g & able).sum(), g.sum(), -there[g].any(axis=0).argmax()))


def _fitted(
    values: Float[np.ndarray, "rows cells"],
    there: Bool[np.ndarray, "rows cells"],
    weights: Float[np.ndarray, "cells"],
) -> Float[np.ndarray, "rows"]:
    """Return the means of the rows of one group.

    The cells are eliminated from the normal equations. These leave the sum of all a_r free; adding
    1 to every element sets the sum to zero and makes the matrix positive definite.
    """
    factor = factors(np.abs(values).max())
    values, weighted = np.where(there, values * factor, 0.0), there * weights
    share = there / there.sum(axis=0)
    matrix = np.diag(weighted.sum(axis=1)) - weighted @ share.T
    right = (weighted * (values - (share * values).sum(axis=0))).sum(axis=1)
    rows = np.linalg.solve(matrix + 1.0, right)
    cells = (share * (values - rows[:, None])).sum(axis=0)
    with np.errstate(over="ignore"):
        fitted: Float[np.ndarray, " rows"] = (rows + np.average(cells, weights=weights)) / factor
    return fitted.clip(-MOST, MOST)
