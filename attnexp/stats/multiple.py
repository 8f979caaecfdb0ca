"""Adjustment of p-values for several tests; for sign flip tests see `flips.step_down_p`."""

from collections.abc import Sequence

import numpy as np


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for the number of tests (Holm 1979)."""
    p = np.asarray(p_values)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    factors = len(p) - np.arange(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * p[order]))
    return [float(each) for each in adjusted]
