"""Names of a package that are imported when they are first used.

So a program that reads a table does not wait a second for PyTorch.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from inspect import isabstract, isclass
from pkgutil import iter_modules, resolve_name
from types import ModuleType
from typing import Any

Lookup = tuple[Callable[[str], Any], Callable[[], list[str]]]
"""The `__getattr__` and `__dir__` of a package."""


def names_in(package: str, places: Mapping[str, str]) -> Lookup:
    """Return the lookup of names that lie elsewhere.

    `places` says where: `attnexp.attention.pooling:AttentionPooling`, or a module.
    """

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(_absent(package, name))
        return resolve_name(places[name])

    return get, lambda: sorted({*places, *vars(sys.modules[package])})


def classes_of(package: str) -> Lookup:
    """Return the lookup of the classes whose modules bear their names, as in topk.py TopK does.

    A new file adds a class.
    """

    def modules() -> dict[str, str]:
        found = iter_modules(sys.modules[package].__path__)
        return {each.name.replace("_", ""): f"{package}.{each.name}" for each in found}

    def get(name: str) -> Any:
        module = modules().get(name.lower())
        found = module and getattr(import_module(module), name, None)
        if not isclass(found):
            raise AttributeError(_absent(package, name))
        return found

    def names() -> Iterator[str]:
        for lowered, module in modules().items():
            for name, value in vars(import_module(module)).items():
                if name.lower() == lowered and isclass(value) and not isabstract(value):
                    yield name

    return get, lambda: sorted({*names(), *vars(sys.modules[package])})


def classes_by_file(package: ModuleType, base: type) -> dict[str, Any]:
    """Return the classes of a package that are of a kind, by the names of their files."""
    found = (getattr(package, name) for name in dir(package))
    return {
        each.__module__.rpartition(".")[2]: each
        for each in found
        if isclass(each) and issubclass(each, base) and not isabstract(each)
    }


def _absent(package: str, name: str) -> str:
    return f"module {package!r} has no attribute {name!r}"
