"""Holds settings against the signature of what they are for.

A plain constructor signature is the schema of its YAML: a key that is no parameter, a value of
another type or a parameter without a value is refused before anything runs.
"""

import inspect
import types
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from typing import Any, Literal, Union, get_args, get_origin

from attnexp.errors import RequestError, choices_text, nearest_text

NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def check_settings(
    settings: Mapping[str, Any], target: Callable[..., Any], where: str, given: Collection[str] = ()
) -> None:
    """Raise RequestError unless `target(**settings)` can be called.

    `where` is the path of the settings, such as `model`; empty at the top. `given` names the
    parameters that come from elsewhere and must not be set. Keys such as `_target_` are Hydra's.
    """
    parameters = dict(inspect.signature(target).parameters)
    for name in given:
        parameters.pop(name, None)
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    own = {name: value for name, value in settings.items() if not name.startswith("_")}
    for name, value in own.items():
        path = f"{where}.{name}" if where else name
        if name in given:
            raise RequestError(f"{path} cannot be set: it follows from the rest of the run")
        if name not in parameters:
            if takes_any:
                continue
            raise RequestError(unknown_setting(path, parameters))
        check_type(value, parameters[name].annotation, path)
    for name, parameter in parameters.items():
        required = parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_KEYWORD,
            parameter.VAR_POSITIONAL,
        )
        if required and name not in own:
            raise RequestError(f"{where}.{name} has no value, and there is no default")


def unknown_setting(path: str, siblings: Collection[str], others: Collection[str] = ()) -> str:
    """The sentence for a setting that is not there, with the choices and the nearest one.

    `others` holds the paths of settings elsewhere. One of the same name is meant before a sibling
    of another name, and a sibling before another of a similar name.
    """
    where, _, name = path.rpartition(".")
    owner = f"in '{where}'" if where else "at the top level"
    listed = f"it has {', '.join(sorted(siblings))}" if siblings else "it has none"
    near = _named(name, others) or nearest_text(name, siblings) or _nearly_named(name, others)
    return f"There is no setting '{name}' {owner}: {listed}.{near}"


def _named(name: str, paths: Collection[str]) -> str:
    """` Did you mean ...?` with the paths that end in a name, or nothing where none does."""
    same = [f"'{path}'" for path in paths if path.rpartition(".")[2] == name]
    return f" Did you mean {choices_text(same)}?" if same else ""


def _nearly_named(name: str, paths: Collection[str]) -> str:
    near = get_close_matches(name, {path.rpartition(".")[2] for path in paths}, n=1)
    return _named(near[0], paths) if near else ""


def check_type(value: object, annotation: Any, path: str) -> None:
    """Raise RequestError unless a value from YAML fits a parameter's annotation.

    Checked are numbers, text, truth values, None, Literal and unions of these. Any other annotation
    lets everything pass.
    """
    if not fits(value, annotation):
        raise RequestError(f"{path} must be {expectation(annotation)}, got {value!r}")


def fits(value: object, annotation: Any) -> bool:
    """Whether a plain value is of an annotated type; a whole number is also a number."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return any(fits(value, option) for option in _of_yaml(annotation))
    if origin is Literal:
        return value in get_args(annotation)
    if annotation is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if annotation is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if annotation in (bool, str):
        return isinstance(value, annotation)
    if annotation in (None, type(None)):
        return value is None
    return True


def _of_yaml(union: Any) -> list[Any]:
    """The options of a union that a YAML value can be, or all where there is none.

    `float | Tensor` is a number, because YAML has no tensors.
    """
    options = get_args(union)
    known = [option for option in options if option in (*NAMES, type(None)) or get_origin(option)]
    return known or list(options)


def expectation(annotation: Any) -> str:
    """An annotated type in words."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return " or ".join(expectation(option) for option in _of_yaml(annotation))
    if origin is Literal:
        return choices_text(str(choice) for choice in get_args(annotation))
    if annotation in (None, type(None)):
        return "null"
    return NAMES.get(annotation, str(annotation))
