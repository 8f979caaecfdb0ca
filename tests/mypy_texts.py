"""A plugin of mypy: a text in two languages is put into no string, which would have its English."""

from collections.abc import Callable
from typing import Any

from mypy.plugin import FunctionContext, MethodContext, Plugin
from mypy.types import Instance, Type, UnionType, get_proper_type

TEXT = "attnexp.core.language.Text"


def has_text(kind: Type) -> bool:
    """Return whether a value of a type may be a text in two languages."""
    found = get_proper_type(kind)
    parts = found.items if isinstance(found, UnionType) else [found]
    return any(isinstance(part, Instance) and part.type.fullname == TEXT for part in parts)


def refused(context: FunctionContext | MethodContext) -> Type:
    """Report an argument that may be a text in two languages."""
    if any(has_text(kind) for kinds in context.arg_types for kind in kinds):
        context.api.fail("a Text in a string is in English alone: translate it", context.context)
    return context.default_return_type


class NoTextInStrings(Plugin):
    """Looks at f-strings, which are calls of str.format to mypy, and at calls of str and print."""

    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        return refused if fullname == "builtins.str.format" else None

    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        return refused if fullname in ("builtins.str", "builtins.print") else None


def plugin(version: str) -> Any:
    """Return the plugin, as mypy asks for it."""
    return NoTextInStrings
