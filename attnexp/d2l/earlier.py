"""Calls of the book's first edition, d2l 0.17, which those of 1.0 have replaced."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

Arguments = ParamSpec("Arguments")

Constructor = Callable[Arguments, None]


def was(earlier: str) -> Callable[[Constructor[Arguments]], Constructor[Arguments]]:
    """Return a decorator of a constructor whose arguments in d2l 0.17 were `earlier`.

    Arguments that it does not take raise TypeError with its call and the earlier one.
    """

    def decorate(constructor: Constructor[Arguments]) -> Constructor[Arguments]:
        signature = inspect.signature(constructor)
        name = constructor.__qualname__.rpartition(".")[0]
        now = ", ".join(list(signature.parameters)[1:])

        @wraps(constructor)
        def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(
                    f"{name}: {error}. Since d2l 1.0 the call is {name}({now}), and sizes of "
                    f"inputs are those of the first call; in 0.17 it was {name}({earlier})"
                ) from None
            constructor(*args, **kwargs)

        return checked

    return decorate
