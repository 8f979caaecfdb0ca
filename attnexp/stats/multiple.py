"""Corrections of p-values for many tests; `flips.step_down_p` has that of the sign flips."""

from collections.abc import Sequence

import numpy as np


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for being these tests (Holm 1979)."""
    p = np.asarray(p_values)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    factors = len(p) - np.arange(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * p[order]))
    return [float(each) for each in adjusted]
