"""The memory that a model takes, known before anything is allocated."""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from attnexp.data.memory import available_memory
from attnexp.errors import RequestError

COPIES = 4
"""A parameter, its gradient and two numbers of an optimizer."""

MOST_TENSORS = 3_000
"""Tensors of parameters: those of two hundred layers. A thousand take about a second to make."""


class TooLargeError(RequestError):
    """The model has no room."""


def require_room(make_model: Callable[[], nn.Module], dtype: torch.dtype) -> None:
    """Raise RequestError for a model whose parameters and training have no room in memory.

    The model is made of tensors without content, and their sizes are added up as they come. Where a
    class of the user's cannot be made so, nothing is known and nothing is refused.
    """
    room = available_memory()
    seen = tensors = 0

    def count(module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        nonlocal seen, tensors
        if parameter is None:
            return
        seen += COPIES * parameter.numel() * dtype.itemsize
        tensors += 1
        if seen > room:
            raise TooLargeError(
                f"the model needs more than {seen / 1e9:,.1f} GB of memory to train, and "
                f"{room / 1e9:,.1f} GB are available: choose smaller sizes in arch and model"
            )
        if tensors > MOST_TENSORS:
            raise TooLargeError(
                f"the model has more than {MOST_TENSORS:,} tensors of parameters: choose fewer "
                "layers or heads in arch"
            )

    hook = register_module_parameter_registration_hook(count)
    try:
        with torch.device("meta"):
            make_model()
    except TooLargeError:
        raise
    except Exception:
        pass  # the model is made again, with content, and says it then
    finally:
        hook.remove()
