"""The curve that a run predicted, as numbers."""

import numpy as np
from numpy.typing import NDArray

from attnexp.errors import RequestError
from attnexp.runs import files
from attnexp.runs.run import Run


def has_fit(run: Run) -> bool:
    """Whether the run predicted a curve: one x, and the training points are stored."""
    batch = run.attention.batch
    curve = not run.attention.source_vocab and "values" in batch and batch["keys"].shape[-1] == 1
    return curve and bool(run.prediction_rows)


def curve(
    run: Run,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """x, truth and prediction of the first example, in order of x.

    Raises RequestError where the file does not hold them.
    """
    count = run.attention.batch["queries"].shape[1]
    names = ("x", "truth", "prediction")
    try:
        rows = np.array(
            [[float(row[name]) for name in names] for row in run.prediction_rows[:count]]
        )
    except (KeyError, TypeError, ValueError):
        raise RequestError(
            f"{run.folder / files.PREDICTIONS} does not hold numbers for {', '.join(names)}"
        ) from None
    x, truth, prediction = rows[np.argsort(rows[:, 0], kind="stable")].T
    return x, truth, prediction
