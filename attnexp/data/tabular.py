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

Rows = Float[NDArray[np.float64], "_ columns"]

FEWEST_ROWS, FEWEST_TRAINED = 4, 2
"""The fewest rows of a table, and of its training part, where each row is hidden from itself."""

LARGEST = torch.finfo(torch.float32).max
"""The largest standardised number that can be stored."""


class Tabular(Dataset):
    """Rows (x, y) of numbers, standardised, `trained` to train on and `tested` to test on.

    Each column has the mean 0 and the standard deviation 1 over the training rows: (number - mean)
    / deviation. The spec keeps both, and the task measures its errors in the units of y. The
    training rows are keys and values, in ascending order of the first x. In `train` they are also
    the queries, and the mask hides each row from itself: leave-one-out. In `test` the queries are
    the test rows, and the targets are their y, noise included.

    Raises ValueError for fewer than 2 training rows, and for a column with one value, with numbers
    whose squares 64-bit floats cannot hold, or with a test row that standardised 32-bit floats
    cannot hold.
    """

    spec: RegressionSpec
    splits_rows: ClassVar[bool] = True

    def __init__(self, tested: Rows, trained: Rows, x: Sequence[str], y: str) -> None:
        if len(trained) < FEWEST_TRAINED:
            raise ValueError(
                f"at least {FEWEST_TRAINED} rows are needed to train on, got {len(trained)}"
            )
        own = trained[np.argsort(trained[:, 0], kind="stable")]
        whole = np.concatenate([tested, own])
        columns = tuple(_column(name, own[:, i], whole[:, i]) for i, name in enumerate([*x, y]))
        self.spec = RegressionSpec(len(x), 1, columns[:-1], columns[-1:])
        keys, values = self._standardised(own)
        count = len(own)
        self.train = Points.of_rows(
            keys, values, keys, values, LeaveOneOut(torch.arange(count), count)
        )
        self.validation = None
        self.test = Points.of_rows(*self._standardised(tested), keys, values, None)
        self.overlap = len(tested) / count

    def _standardised(
        self, rows: Rows
    ) -> tuple[Float[Tensor, "rows x_dim"], Float[Tensor, "rows 1"]]:
        columns = [*self.spec.x, *self.spec.y]
        numbers = standardised(torch.from_numpy(rows), columns).float()
        return numbers[:, :-1], numbers[:, -1:]


def random_split(rows: Rows, test: float, generator: torch.Generator) -> tuple[Rows, Rows]:
    """Return a share `test` of the rows at random, and the other rows.

    Raises ValueError for fewer than FEWEST_ROWS rows, for a share outside 0 to 1, and for a share
    that leaves fewer than FEWEST_TRAINED rows to train on.
    """
    tested = _tested(rows, test)
    order = torch.randperm(len(rows), generator=generator).numpy()
    return rows[order[:tested]], rows[order[tested:]]


def last_split(rows: Rows, test: float, name: str) -> tuple[Rows, Rows]:
    """Return the share `test` of the rows with the largest first column, and the other rows.

    Both ascend in that column, which messages call `name`. Rows that tie with the smallest test row
    in that column are tested too, so that every training row lies before every test row.

    Raises ValueError as `random_split`.
    """
    tested = _tested(rows, test)
    ascending = rows[np.argsort(rows[:, 0], kind="stable")]
    bound = ascending[-tested, 0]
    trained = int(np.searchsorted(ascending[:, 0], bound))
    if trained < FEWEST_TRAINED:
        raise ValueError(
            f"split=last with test={test} holds out all rows with {name}={bound:.15g} or more and "
            f"leaves {trained} of {len(rows)} to train on: at least {FEWEST_TRAINED} are needed"
        )
    return ascending[trained:], ascending[:trained]


def _tested(rows: Rows, test: float) -> int:
    """Return the number of test rows. Raises ValueError as `random_split`."""
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
    return tested


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
