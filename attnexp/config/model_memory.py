"""Checks the memory of a model's parameters before anything is allocated."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_parameter_registration_hook
from torch.overrides import TorchFunctionMode

from attnexp.core.errors import RequestError
from attnexp.data.memory import available_memory

COPIES = 4
"""Numbers in memory per parameter: the value, the gradient and two of an optimizer."""

MOST_TENSORS = 3_000
"""Tensors of parameters: those of two hundred layers. A thousand take about a second to make."""


class ModelTooLargeError(RequestError):
    """The model does not fit in memory."""


class _Undrawn(TorchFunctionMode):
    """Leaves out `normal_`, for which the meta device imports PyTorch's compiler, in seconds."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        named = kwargs or {}
        if func.__name__ == "normal_":
            return args[0] if args else named["tensor"]
        return func(*args, **named)


def check_model_memory(make_model: Callable[[], nn.Module], dtype: torch.dtype) -> None:
    """Raise RequestError for a model whose parameters and their copies do not fit in memory.

    The model is built on PyTorch's meta device, without content, and the sizes of its parameters
    are added up as they are registered. A class of the user's that cannot be built there is not
    checked.
    """
    available = available_memory()
    needed = tensors = 0

    def count(module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        nonlocal needed, tensors
        if parameter is None:
            return
        needed += COPIES * parameter.numel() * dtype.itemsize
        tensors += 1
        if needed > available:
            raise ModelTooLargeError(
                f"the model needs more than {needed / 1e9:,.1f} GB of memory to train, and "
                f"{available / 1e9:,.1f} GB are available: choose smaller sizes in arch and model"
            )
        if tensors > MOST_TENSORS:
            raise ModelTooLargeError(
                f"the model has more than {MOST_TENSORS:,} tensors of parameters: choose fewer "
                "layers or heads in arch"
            )

    hook = register_module_parameter_registration_hook(count)
    try:
        with torch.device("meta"), _Undrawn():
            make_model()
    except ModelTooLargeError:
        raise
    except (Exception, SystemExit):
        pass  # it is built again, with content, and then raises its own error
    finally:
        hook.remove()
