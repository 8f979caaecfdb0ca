"""Mean ranks of rows, by how often each is ahead of each other."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from attnexp.stats.paired import Values, block_differences


def chances(rows: Sequence[Values], ahead_by: float) -> Float[np.ndarray, "rows rows"]:
    """Return the chance that each row is ahead of each other by more than a margin.

    Lower values are better. It is the share of the shared blocks of a unit, of which those within
    the margin count half, on average over the shared units; NaN without one, and of a row itself.
    """
    found = np.full((len(rows), len(rows)), np.nan)
    for i, row in enumerate(rows):
        for j, other in enumerate(rows[:i]):
            shares = []
            for unit in row.keys() & other.keys():
                apart = block_differences(row[unit], other[unit], ahead_by)
                if apart.size:
                    shares.append((1 - np.sign(apart).mean()) / 2)
            if shares:
                found[i, j] = np.mean(shares)
                found[j, i] = 1 - found[i, j]
    return found


def mean_ranks(rows: Sequence[Values], ahead_by: float) -> list[float | None]:
    """Return the mean rank of each row, 1 for one that is ahead of all others everywhere.

    With P_ij from `chances`, the rank of row i is

        1 + sum over the other rows of P_ji

    which is the mean of its ranks in the blocks, on average over the units, if all rows have all
    (Friedman 1937). Rows without a shared unit count as those with one do on average; None for a
    row that shares a unit with no other.
    """
    others = chances(rows, ahead_by)
    there = ~np.isnan(others)
    return [
        1 + (len(rows) - 1) * float(column[known].mean()) if known.any() else None
        for column, known in zip(others.T, there.T, strict=True)
    ]
