"""Calls the compiled steps of the recurrences."""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from attnexp.architectures.compiled import Compiled, compiled
from attnexp.architectures.recurrence.cells import Cell, Gru, Lstm

KINDS: dict[type[Cell], int] = {Gru: 0, Lstm: 1}
"""The number of each cell in the source."""


class Library:
    """Calls the compiled steps. `name` is the compiler and its version, such as `cc 14.2.0`."""

    def __init__(self, found: Compiled) -> None:
        self.name = found.compiler
        self._functions = found.load()

    def __reduce__(self) -> tuple[Callable[[], "Library"], tuple[()]]:
        return load, ()

    def takes(self, cell: type[Cell], x: Tensor) -> bool:
        """Return whether steps of a cell on such numbers can be called: float32 on a CPU.

        They cannot while the operations of PyTorch are recorded, or replaced.
        """
        recorded = torch._C._len_torch_dispatch_stack() or torch.compiler.is_compiling()
        return (
            cell in KINDS and x.dtype is torch.float32 and x.device.type == "cpu" and not recorded
        )

    def call(self, function: str, cell: type[Cell], sizes: tuple[int, ...], *tensors: Any) -> None:
        """Call a function of the source with sizes and contiguous tensors, or None for no tensor.

        A tensor that is a part of the rows of a contiguous one is given by its first number.
        """
        pointers = [None if each is None else ctypes.c_void_p(each.data_ptr()) for each in tensors]
        self._functions[function](KINDS[cell], *map(ctypes.c_long, sizes), *pointers)


def use(model: nn.Module, library: Library | None) -> None:
    """Let the recurrences of a model call the library, or PyTorch alone with None."""
    for module in model.modules():
        if isinstance(module, Recurrent):
            module.library = library


class Recurrent(nn.Module):
    """A module whose recurrence may call the library."""

    library: Library | None = None


@cache
def load() -> Library:
    """Return the library. Raises NoLibraryError as `compiled`."""
    return Library(compiled())
