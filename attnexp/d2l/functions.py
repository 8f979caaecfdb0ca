"""The short functions of Dive into Deep Learning: checks, methods and tensors."""

from collections.abc import Callable, Sequence
from operator import methodcaller
from typing import Any

import torch
from torch import Tensor


def check_len(a: Sequence[Any], n: int) -> None:
    """Raise AssertionError if a list has another length."""
    if len(a) != n:
        raise AssertionError(f"the length must be {n}, got {len(a)}")


def check_shape(a: Tensor, shape: Sequence[int]) -> None:
    """Raise AssertionError if a tensor has another shape."""
    if tuple(a.shape) != tuple(shape):
        raise AssertionError(f"the shape must be {tuple(shape)}, got {tuple(a.shape)}")


def add_to_class(Class: type) -> Callable[[Any], Any]:
    """Return a decorator that makes a function a method of a class, objects that exist included."""

    def add(function: Any) -> Any:
        setattr(Class, function.__name__, function)
        return function

    return add


def sequence_mask(X: Tensor, valid_len: Tensor, value: float = 0) -> Tensor:
    """Return X with `value` from the valid length of each row on, of d2l 0.17. X stays as it is."""
    beyond = torch.arange(X.shape[1], device=X.device) >= valid_len[:, None]
    return X.masked_fill(beyond.reshape(*beyond.shape, *[1] * (X.dim() - 2)), value)


def _method(name: str) -> Callable[..., Any]:
    return lambda x, *args, **kwargs: methodcaller(name, *args, **kwargs)(x)


METHODS = {  # the book's names of functions: methods of their first argument
    "argmax": "argmax",
    "astype": "type",
    "expand_dims": "unsqueeze",
    "reduce_mean": "mean",
    "reduce_sum": "sum",
    "repeat": "repeat",
    "reshape": "reshape",
    "size": "numel",
    "swapaxes": "swapaxes",
    "to": "to",
    "transpose": "t",
}

ALIASES: dict[str, Any] = {
    **{name: _method(method) for name, method in METHODS.items()},
    "abs": torch.abs,
    "arange": torch.arange,
    "batch_matmul": torch.bmm,
    "concat": torch.cat,
    "cos": torch.cos,
    "cosh": torch.cosh,
    "exp": torch.exp,
    "eye": torch.eye,
    "float32": torch.float32,
    "int32": torch.int32,
    "int64": torch.int64,
    "linspace": torch.linspace,
    "log": torch.log,
    "matmul": torch.matmul,
    "meshgrid": torch.meshgrid,
    "nn_Module": torch.nn.Module,
    "normal": torch.normal,
    "numpy": lambda x, *args, **kwargs: x.detach().numpy(*args, **kwargs),
    "ones": torch.ones,
    "ones_like": torch.ones_like,
    "rand": torch.rand,
    "randn": torch.randn,
    "sigmoid": torch.sigmoid,
    "sin": torch.sin,
    "sinh": torch.sinh,
    "stack": torch.stack,
    "tanh": torch.tanh,
    "tensor": torch.tensor,
    "zeros": torch.zeros,
    "zeros_like": torch.zeros_like,
}
"""The book's names for PyTorch's functions, and for methods as functions of their tensor."""
