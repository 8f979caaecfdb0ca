"""The size from which `device=auto` takes a GPU, without importing PyTorch."""

from collections.abc import Mapping
from typing import Any

LEAST_PAIRS = 2**18
"""Up to this many pairs of training points `device=auto` is the CPU: the pairs of 512 points.

A step of regression launches some 80 kernels, however few the points are.
"""

REGRESSION = "attnexp.architectures.kernel_regression.KernelRegression"


def is_small(pairs: int) -> bool:
    """Return whether a regression with these pairs of training points is too small for a GPU."""
    return pairs <= LEAST_PAIRS


def may_take_gpu(settings: Mapping[str, Any]) -> bool:
    """Return whether a run with these settings may take any GPU; `cuda:N` names one instead.

    Data without `num_train`, such as a table that is not yet read, may be large enough for one.
    """
    if settings.get("device") != "auto":
        return settings.get("device") == "cuda"
    arch, data = settings.get("arch") or {}, settings.get("data") or {}
    points = data.get("num_train")
    regression = arch.get("_target_") == REGRESSION
    return not (regression and isinstance(points, int) and is_small(points**2))
