"""The memory that a model takes, known before anything is allocated."""

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from attnexp.architectures.base import Architecture
from attnexp.batch import Batch, Points
from attnexp.data.memory import available_memory
from attnexp.errors import RequestError

Model = TypeVar("Model", bound=nn.Module)

COPIES = 4
"""A parameter, its gradient and two numbers of an optimizer."""

MOST_TENSORS = 3_000
"""Tensors of parameters: those of two hundred layers. A thousand take about a second to make."""


class TooLargeError(RequestError):
    """The model has no room."""


def require_room(make_model: Callable[[], Model], dtype: torch.dtype) -> Model | None:
    """Raise RequestError for a model whose parameters and their copies have no room in memory.

    The model is made of tensors without content, and their sizes are added up as they come. It is
    returned. Where a class of the user's cannot be made so, nothing is known and nothing is
    refused: the result is None.
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
            return make_model()
    except TooLargeError:
        raise
    except Exception:
        return None  # the model is made again, with content, and says it then
    finally:
        hook.remove()


def require_room_for_step(
    model: Architecture, batch: Batch, size: int | None, itemsize: int
) -> None:
    """Raise RequestError where what a step keeps for its gradients has no room in memory.

    `batch` is the training set, of which a step takes `size` examples or, where it is None, all. A
    number has `itemsize` bytes. What is counted is less than what is kept, so that nothing is
    refused that has room.
    """
    portion = min(size or len(batch), len(batch))
    queries, keys = batch.queries.shape[1], batch.keys.shape[1]
    shared = isinstance(batch, Points)
    numbers = model.kept(portion, keys, 1) if shared else model.kept(queries, keys, portion)
    room, kept = available_memory(), itemsize * numbers
    if kept > room:
        raise TooLargeError(
            f"a step of training keeps more than {kept / 1e9:,.1f} GB for its gradients, and "
            f"{room / 1e9:,.1f} GB are available: choose a smaller train.batch_size, smaller sizes "
            "in arch and model, or shorter sequences"
        )
