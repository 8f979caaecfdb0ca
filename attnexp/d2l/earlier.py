"""Calls of d2l 0.17, which those of 1.0 have replaced."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import Any, ParamSpec

import torch
from torch import Tensor, nn

Arguments = ParamSpec("Arguments")

Constructor = Callable[Arguments, None]


def was(earlier: str, **layers: str) -> Callable[[Constructor[Arguments]], Constructor[Arguments]]:
    """Return a decorator of a constructor whose arguments in d2l 0.17 were `earlier`.

    `layers` say which of these is the size of the inputs of a lazy layer. With them the earlier
    arguments are taken too: the layers have their parameters at once, and inputs of another size
    raise ValueError. All other arguments raise TypeError with both calls.
    """

    def decorate(constructor: Constructor[Arguments]) -> Constructor[Arguments]:
        signature = inspect.signature(constructor)
        name = constructor.__qualname__.rpartition(".")[0]
        now = list(signature.parameters.values())[1:]
        before = _signature(earlier.split(", "), now)
        calls = f"{name}({', '.join(each.name for each in now)})", f"{name}({earlier})"

        @wraps(constructor)
        def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                given = _bound(before, args[1:], kwargs) if layers else None
                if given is None:
                    raise TypeError(f"{name}: {error}. {_both(*calls, bool(layers))}") from None
                build: Any = constructor
                build(args[0], **{each.name: given[each.name] for each in now})
                for layer, size in layers.items():
                    _fix(getattr(args[0], layer), size, given[size])
            else:
                constructor(*args, **kwargs)

        return checked

    return decorate


def _signature(names: list[str], now: list[inspect.Parameter]) -> inspect.Signature:
    """Return a signature of these names, with the defaults that they have now."""
    defaults = {each.name: each.default for each in now}
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature(
        [
            inspect.Parameter(name, kind, default=defaults.get(name, inspect.Parameter.empty))
            for name in names
        ]
    )


def _bound(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return arguments by name, defaults included, or None if the signature has others."""
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    return bound.arguments


def _both(now: str, before: str, taken: bool) -> str:
    if taken:
        return f"The call is {now} as in d2l 1.0, or {before} as in 0.17"
    return (
        f"Since d2l 1.0 the call is {now}, and sizes of inputs are those of the first call; "
        f"in 0.17 it was {before}"
    )


def _fix(layer: nn.Module, name: str, size: int) -> None:
    """Give a lazy layer the size of its inputs, and check it from then on."""
    layer(torch.zeros(1, size))
    layer.register_forward_pre_hook(partial(_check, name, size))


def _check(name: str, size: int, layer: nn.Module, inputs: tuple[Tensor]) -> None:
    found = inputs[0].shape[-1]
    if found != size:
        raise ValueError(f"the inputs must have {name}={size} features, got {found}")
