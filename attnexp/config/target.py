"""The class or function that a `_target_` names."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from attnexp.core.errors import RequestError, message, nearest_text

TARGET = "_target_"
"""The key whose value is imported and called."""


def import_target(settings: Mapping[str, Any], path: str) -> Callable[..., Any]:
    """Return the class or function that settings are for.

    `path` is that of the settings, such as `model`. Raises RequestError if they name none, or one
    that cannot be imported or called.
    """
    name = settings.get(TARGET)
    if name is None:
        raise RequestError(f"{path} has no {TARGET}: it names the class or function to call")
    module, _, attribute = str(name).rpartition(".")
    try:
        found = getattr(import_module(module), attribute)
    except (Exception, SystemExit) as error:  # a module of the user's may raise anything
        near = nearest_text(attribute, vars(sys.modules[module])) if module in sys.modules else ""
        problem = f"{path}.{TARGET}: '{name}' cannot be imported: {message(error)}"
        raise RequestError(f"{problem}.{near}" if near else problem) from error
    if not callable(found):
        raise RequestError(f"{path}.{TARGET}: '{name}' is not a class or a function")
    made: Callable[..., Any] = found
    return made
