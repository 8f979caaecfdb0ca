"""Normalizers as functions, such as `sparsemax(scores, mask)`.

A function bears the name of the file of its class, and of its choice on the command line. The names
in YAML files lead through the module `attnexp.normalizers.sparsemax`, so the function cannot have
that name too.
"""

import inspect
from collections.abc import Callable
from functools import cache

from jaxtyping import Float
from torch import Tensor

from attnexp import normalizers
from attnexp.core.lazy import classes_by_file
from attnexp.core.masks import MaskMatrix, ValidLens
from attnexp.normalizers.base import Normalizer

NormalizerFunction = Callable[..., Tensor]
"""Maps scores, a mask or lengths, and settings by name to weights."""


def __getattr__(name: str) -> NormalizerFunction:
    """Return the function of a normalizer. Raises AttributeError if no file bears the name."""
    kinds = classes_by_file(normalizers, Normalizer)
    if name not in kinds:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _function_of(name, kinds[name])


def __dir__() -> list[str]:
    return sorted({*classes_by_file(normalizers, Normalizer), *globals()})


@cache
def _function_of(name: str, kind: type[Normalizer]) -> NormalizerFunction:
    def function(
        scores: Float[Tensor, "*batch queries keys"],
        mask: MaskMatrix | ValidLens | None = None,
        **settings: object,
    ) -> Float[Tensor, "*batch queries keys"]:
        normalizer = kind(heads=1, **settings)
        if learned := [parameter for parameter, _ in normalizer.named_parameters()]:
            raise ValueError(
                f"{name} learns {', '.join(learned)}, which a function cannot keep: make an "
                f"attnexp.normalizers.{kind.__name__}"
            )
        weights: Tensor = normalizer(scores, mask)
        return weights

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return the weights of scores (..., queries, keys) by `{kind.__name__}`.\n\n"
        "`mask` is as in `Normalizer.forward`; a masked key has weight zero. Raises ValueError for "
        f"settings with which there\nis a parameter to learn.\n\n{inspect.getdoc(kind)}"
    )
    taken = list(inspect.signature(function).parameters.values())[:2]
    own = [each for each in inspect.signature(kind).parameters.values() if each.name != "heads"]
    by_name = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
    function.__dict__["__signature__"] = inspect.Signature([*taken, *by_name])
    return function
