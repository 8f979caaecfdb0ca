"""Holds settings against the signature of what they are for.

A plain constructor signature is the schema of its YAML: a key that is no parameter, a value of
another type or a parameter without a value is refused before anything runs.
"""

import inspect
import math
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from difflib import get_close_matches
from typing import Any, Literal, Union, get_args, get_origin

from attnexp.errors import RequestError, choices_text, nearest_text, shortened
from attnexp.redaction import redacted

NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}

OF_HYDRA = {"_target_": str, "_recursive_": bool, "_convert_": str}
"""The keys of Hydra's that a node may have, and their types."""

LARGEST = 2**63 - 1
"""The largest whole number that tensors and files of a run can hold."""

SHOWN = 60
"""Letters of a value in a message."""


def check_settings(
    settings: Mapping[str, Any], target: Callable[..., Any], where: str, given: Collection[str] = ()
) -> None:
    """Raise RequestError unless `target(**settings)` can be called.

    `where` is the path of the settings, such as `model`; empty at the top. `given` names the
    parameters that come from elsewhere and must not be set. Keys such as `_target_` are Hydra's;
    those that would change how the target is called are refused.
    """
    try:
        parameters = dict(inspect.signature(target).parameters)
    except (TypeError, ValueError) as error:
        raise RequestError(f"{where}._target_ names nothing with settings: {error}") from error
    for name, value in settings.items():
        if str(name).startswith("_"):
            if name not in OF_HYDRA:
                raise RequestError(f"{where}.{name} cannot be set: settings are given by name")
            check_type(value, OF_HYDRA[name], f"{where}.{name}")
    for name in given:
        parameters.pop(name, None)
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    own = {name: value for name, value in settings.items() if not str(name).startswith("_")}
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

    Checked are numbers, text, truth values, None, Literal, unions and lists of these. Any other
    annotation lets everything pass. No number may be NaN or longer than 64 bits.
    """
    if not fits(value, annotation):
        raise RequestError(
            f"{path} must be {expectation(annotation)}, "
            f"got {shortened(redacted(repr(value)), SHOWN)}"
        )
    for number in numbers_in(value):
        if isinstance(number, int) and abs(number) > LARGEST:
            raise RequestError(f"{path} must be within -2^63 and 2^63, got {Decimal(number):.3e}")
        if math.isnan(number):
            raise RequestError(f"{path} must be a number, got nan")


def check_finite(value: object, path: str) -> None:
    """Raise RequestError for a number inside a setting that is infinite."""
    if isinstance(value, Mapping):
        for name, inside in value.items():
            check_finite(inside, f"{path}.{name}")
    elif any(map(math.isinf, numbers_in(value))):
        raise RequestError(f"{path} must be finite, got {shortened(str(value), SHOWN)}")


def numbers_in(value: object) -> Iterator[int | float]:
    """Yield the numbers of a value, those in its lists included."""
    if isinstance(value, list | tuple):
        for entry in value:
            yield from numbers_in(entry)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def fits(value: object, annotation: Any) -> bool:
    """Whether a plain value is of an annotated type; a whole number is also a number."""
    origin = get_origin(annotation)
    if origin in (Union, types.UnionType):
        return any(fits(value, option) for option in _of_yaml(annotation))
    if origin is Literal:
        return any(value is each or value == each for each in get_args(annotation))
    if annotation is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if annotation is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if annotation in (bool, str):
        return isinstance(value, annotation)
    if annotation in (None, type(None)):
        return value is None
    if origin in (list, Sequence):
        (inner,) = get_args(annotation)
        return isinstance(value, list | tuple) and all(fits(entry, inner) for entry in value)
    if origin is tuple:
        return isinstance(value, list | tuple) and _fits_tuple(value, get_args(annotation))
    if origin in (dict, Mapping):
        return isinstance(value, Mapping)
    return True


def _fits_tuple(values: Sequence[object], options: Sequence[Any]) -> bool:
    if len(options) == 2 and options[1] is Ellipsis:
        return all(fits(value, options[0]) for value in values)
    return len(values) == len(options) and all(map(fits, values, options))


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
    if origin in (list, Sequence):
        return f"a list, each {expectation(get_args(annotation)[0])}"
    if origin is tuple:
        return f"a list of {choices_text({expectation(each) for each in get_args(annotation)})}"
    if origin in (dict, Mapping):
        return "settings as name: value"
    return NAMES.get(annotation, str(annotation))
