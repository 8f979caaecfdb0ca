"""Losses and rates over powers of ten want a logarithmic axis; shares never do."""

import numpy as np
import pytest

from attnexp.plots.lines import wants_log

WIDE = np.array([0.01, 0.5, 1.0])


@pytest.mark.parametrize(
    ("columns", "values", "log"),
    [
        (["loss"], WIDE, True),
        (["loss", "val_loss"], WIDE, True),
        (["lr"], WIDE, True),
        (["loss"], WIDE[1:], False),
        (["val_loss"], WIDE - 0.01, False),
        (["val_exact_match"], WIDE, False),
        (["loss", "val_alignment_accuracy"], WIDE, False),
    ],
)
def test_which_axis(columns, values, log):
    assert wants_log(columns, values) is log
