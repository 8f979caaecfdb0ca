"""Mean ranks of rows, by how often one row is ahead of another."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from attnexp.stats.paired import Values, block_differences


def chances(rows: Sequence[Values], ahead_by: float) -> Float[np.ndarray, "rows rows"]:
    """Return P_ij, the chance that row i is ahead of row j by more than a margin.

    Lower values are better. P_ij is the share of shared blocks in which row i is ahead, averaged
    over shared units; blocks within the margin count half. NaN without shared blocks and for i = j.
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
    """Return the mean rank of each row, 1 for a row that is ahead of all others everywhere.

    With P_ij from `chances`, the rank of row i is

        1 + sum over the other rows j of P_ji

    If all rows have all blocks, this is the mean over units of the mean rank in the blocks
    (Friedman 1937). A missing P_ji counts as the mean of the others; None if all are missing.
    """
    others = chances(rows, ahead_by)
    there = ~np.isnan(others)
    return [
        1 + (len(rows) - 1) * float(column[known].mean()) if known.any() else None
        for column, known in zip(others.T, there.T, strict=True)
    ]
