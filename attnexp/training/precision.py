"""The choice of the numbers that a run computes with."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial

import torch

from attnexp.core.errors import RequestError

Autocast = Callable[[], AbstractContextManager[object]]
"""Returns the context in which a model computes."""


@dataclass(frozen=True)
class Precision:
    """The dtype of parameters and data, and the context in which a model computes with them."""

    dtype: torch.dtype
    autocast: Autocast


def choose_precision(name: str, device: torch.device) -> Precision:
    """Return the precision called `fp32`, `fp64` or `bf16`, for models on a device.

    The parameters are drawn, and the data made, in float32, so that they are the same in every
    precision. With `fp64` all is float64 from then on. With `bf16` parameters, gradients, updates
    and losses are float32; matrix products take bfloat16, as `torch.autocast` defines it, and so do
    the operations that follow them, up to the weights of attention, which are float32 again.

    Raises RequestError for fp64 on an Apple GPU, which has no float64.
    """
    if name == "fp64":
        if device.type == "mps":
            raise RequestError("precision=fp64 is not possible with device=mps: use device=cpu")
        return Precision(torch.float64, nullcontext)
    if name == "bf16":
        return Precision(torch.float32, partial(torch.autocast, device.type, dtype=torch.bfloat16))
    return Precision(torch.float32, nullcontext)
