"""Rows of a table, for attention pooling as regression on any number of inputs."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from attnexp.core.batch import DataColumn, Points, RegressionSpec, standardised
from attnexp.core.masks import LeaveOneOut
from attnexp.data.base import Dataset

FEWEST_ROWS, FEWEST_TRAINED = 4, 2
"""Rows of a table, and those of them to train on: each is hidden from itself."""

LARGEST = torch.finfo(torch.float32).max
"""The largest standardised number."""


class Tabular(Dataset):
    """Rows (x, y) of numbers, standardised, in a random split into training and test rows.

    Each column has the mean 0 and the standard deviation 1 over the training rows: (number - mean)
    / deviation. The spec keeps both, and the task measures its errors in the units of y. The
    training rows are keys and values, in ascending order of the first x. In `train` they are also
    the queries, and the mask hides each row from itself: leave-one-out. In `test` the queries are
    the other rows, a share `test` of all, and the targets are their y, noise included.

    Raises ValueError for fewer than 4 rows, a share that leaves fewer than 1 row to test or 2 to
    train on, and a column with one value, with numbers whose squares 64-bit floats cannot hold, or
    with a test row that standardised 32-bit floats cannot hold.
    """

    spec: RegressionSpec
    splits_rows: ClassVar[bool] = True

    def __init__(
        self,
        generator: torch.Generator,
        rows: Float[NDArray[np.float64], "rows columns"],
        x: Sequence[str],
        y: str,
        test: float,
    ) -> None:
        count = len(rows)
        if count < FEWEST_ROWS:
            raise ValueError(f"a table must have at least {FEWEST_ROWS} rows, got {count}")
        if not 0 < test < 1:
            raise ValueError(f"test must be a share of the rows between 0 and 1, got {test}")
        tested = max(1, round(test * count))
        if count - tested < FEWEST_TRAINED:
            raise ValueError(
                f"test={test} leaves {count - tested} of {count} rows to train on: at least "
                f"{FEWEST_TRAINED} are needed"
            )
        order = torch.randperm(count, generator=generator).numpy()
        first, own = rows[order[:tested]], rows[order[tested:]]
        own = own[np.argsort(own[:, 0], kind="stable")]
        columns = tuple(_column(name, own[:, i], rows[:, i]) for i, name in enumerate([*x, y]))
        self.spec = RegressionSpec(len(x), 1, columns[:-1], columns[-1:])
        keys, values = self._standardised(own)
        trained = len(own)
        self.train = Points.of_rows(
            keys, values, keys, values, LeaveOneOut(torch.arange(trained), trained)
        )
        self.validation = None
        self.test = Points.of_rows(*self._standardised(first), keys, values, None)
        self.overlap = tested / trained

    def _standardised(
        self, rows: Float[NDArray[np.float64], "rows columns"]
    ) -> tuple[Float[Tensor, "rows x_dim"], Float[Tensor, "rows 1"]]:
        columns = [*self.spec.x, *self.spec.y]
        numbers = standardised(torch.from_numpy(rows), columns).float()
        return numbers[:, :-1], numbers[:, -1:]


def _column(
    name: str, trained: Float[NDArray[np.float64], " rows"], whole: NDArray[np.float64]
) -> DataColumn:
    """Return the statistics of a column. Raises ValueError if it cannot be standardised."""
    low, high = float(trained.min()), float(trained.max())
    if low == high:
        raise ValueError(
            f"column '{name}' has one value, {low:g}, in all {len(trained)} training rows: it says "
            "nothing"
        )
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        numbers = (trained.mean(), trained.std(), whole.min(), np.median(whole), whole.max())
    column = DataColumn(name, *map(float, numbers))
    if not 0 < column.deviation < np.inf:
        raise ValueError(
            f"column '{name}' goes from {low:g} to {high:g}, too far or too near for the squares "
            "of 64-bit floats: write it in another unit"
        )
    farthest = max((column.low, column.high), key=lambda end: abs(end - column.mean))
    if abs(farthest - column.mean) / column.deviation > LARGEST:
        raise ValueError(
            f"column '{name}' has {farthest:g} in a test row, and {low:g} to {high:g} in those of "
            "training, too far for 32-bit floats in units of its deviation: leave such rows out"
        )
    return column
