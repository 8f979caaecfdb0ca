"""Names of a package that are imported when they are first used."""

import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy(
    package: str, places: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package whose names lie in other modules.

    `places` says where: `attnexp.attention.pooling:AttentionPooling`, or a module. So a program
    that reads a table does not wait a second for PyTorch.
    """

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from pkgutil import resolve_name

        return resolve_name(places[name])

    return get, lambda: sorted({*places, *vars(sys.modules[package])})
