"""The class or function that settings configure, and the check of settings against its signature.

A plain constructor signature is the schema of its YAML: a name that is not a parameter, a value of
another type and a parameter without a value are refused before anything runs.
"""

import inspect
import math
import re
import sys
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from decimal import Decimal
from importlib import import_module
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from attnexp.config.documents import WORDS
from attnexp.config.unknown import SHOWN, UnknownSettingError
from attnexp.core.errors import RequestError, choices_text, message, nearest_text, shortened_value
from attnexp.core.packages import require_package

OF_HYDRA = {"_target_": str, "_recursive_": bool, "_convert_": str}
"""The settings of Hydra's that a node may have, and their types."""

LARGEST = 2**63 - 1
"""The largest whole number that tensors and files of a run can hold."""

TARGET = "_target_"
"""The key whose value is imported and called."""


def import_target(settings: Mapping[str, Any], path: str) -> Callable[..., Any]:
    """Return the class or function that the `_target_` of settings names.

    `path` is the path of the settings, such as `model`. Raises RequestError without a `_target_`,
    and for one that cannot be imported or called.
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


def require_packages(choices: Mapping[str, str]) -> None:
    """Raise RequestError for a package that the target of a choice needs and that is not installed.

    `choices` are words such as `data=nile`, by their targets. A class names the packages that it
    needs in `packages`: see `Dataset` and `Tracker`. Raises as `import_target`, too.
    """
    for target, choice in choices.items():
        found = import_target({TARGET: target}, choice.partition("=")[0])
        packages: Mapping[str, str] = getattr(found, "packages", {})
        for package, source in packages.items():
            require_package(package, source, choice)


def check_settings(
    settings: Mapping[str, Any], target: Callable[..., Any], where: str, given: Collection[str] = ()
) -> None:
    """Raise RequestError unless `target(**settings)` can be called.

    `where` is the path of the settings, such as `model`; empty at the top. `given` names the
    parameters that come from elsewhere and must not be set. Names such as `_target_` are Hydra's;
    those that would change how the target is called are refused.
    """
    try:
        parameters = dict(inspect.signature(target).parameters)
    except (TypeError, ValueError) as error:
        raise RequestError(
            f"{where}._target_ has no signature to check settings against: {error}"
        ) from error
    for name in given:
        parameters.pop(name, None)
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for name, value in settings.items():
        path = f"{where}.{name}" if where else name
        if str(name).startswith("_"):
            if name not in OF_HYDRA:
                raise RequestError(f"{path} cannot be set: settings are given by name")
            check_type(value, OF_HYDRA[name], path)
        elif name in given:
            raise RequestError(f"{path} cannot be set: it follows from the rest of the run")
        elif name in parameters:
            check_type(value, parameters[name].annotation, path)
        elif name in _fields_without_a_dataclass(target):
            raise RequestError(
                f"{path} is a field of {target.__name__}, which is no dataclass: write "
                "@dataclass(eq=False, repr=False) above the class"
            )
        elif not takes_any:
            raise UnknownSettingError(path, parameters)
    for name, parameter in parameters.items():
        required = parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_KEYWORD,
            parameter.VAR_POSITIONAL,
        )
        if required and name not in settings:
            path = f"{where}.{name}" if where else name
            raise RequestError(f"{path} has no value, and there is no default")


def _fields_without_a_dataclass(target: Callable[..., Any]) -> Collection[str]:
    """Return the names annotated in a class that inherits fields, and lacks the decorator."""
    if not is_dataclass(target) or vars(target).keys() & {"__init__", "__dataclass_fields__"}:
        return ()
    return inspect.get_annotations(target)


def lists_of(target: Callable[..., Any]) -> dict[str, bool]:
    """Return the names of parameters that may be lists, with whether they may be text too."""
    try:
        parameters = inspect.signature(target).parameters
    except (TypeError, ValueError):  # `check_settings` says so
        return {}
    found = {}
    for name, parameter in parameters.items():
        options = _options(parameter.annotation)
        if any(get_origin(one) in (list, Sequence) for one in options):
            found[name] = str in options
    return found


def with_lists(settings: Mapping[str, Any], target: Callable[..., Any]) -> dict[str, Any]:
    """Return settings, with text put into a list where the target takes lists but no text."""
    lists = [name for name, or_text in lists_of(target).items() if not or_text]
    return {
        name: [value] if name in lists and isinstance(value, str) else value
        for name, value in settings.items()
    }


def _options(annotation: Any) -> tuple[Any, ...]:
    """Return the types of a union, or the one type."""
    union = get_origin(annotation) in (Union, types.UnionType)
    return get_args(annotation) if union else (annotation,)


def check_type(value: object, annotation: Any, path: str) -> None:
    """Raise RequestError unless a value from YAML fits a parameter's annotation.

    msgspec checks numbers, text, truth values, None, Literal, unions, lists, tuples and mappings of
    these. Any other annotation accepts every value. No number may be NaN or longer than 64 bits.
    """
    for number in numbers_in(value):
        if isinstance(number, int) and abs(number) > LARGEST:
            raise RequestError(f"{path} must be within -2^63 and 2^63, got {Decimal(number):.3e}")
    kind = _of_yaml(annotation)
    try:
        msgspec.convert(value, kind, strict=True, dec_hook=_accept)
    except msgspec.ValidationError as error:
        raise RequestError(_misfit(str(error), kind, value, path)) from None
    except (TypeError, _AcceptedError):
        pass  # a type that YAML does not have
    if any(map(math.isnan, numbers_in(value))):
        raise RequestError(f"{path} must be a number, got nan")


class _AcceptedError(Exception):
    """The annotation is a class that YAML cannot describe."""


def _accept(kind: type, value: object) -> None:
    raise _AcceptedError


def _of_yaml(annotation: Any) -> Any:
    """Return an annotation without types that YAML lacks: `float | Tensor` becomes `float`."""
    if get_origin(annotation) is Callable:
        return Any
    options = _options(annotation)
    if options == (annotation,):
        return annotation
    known = [each for each in options if get_origin(each) or each.__name__ in WORDS]
    return Union[tuple(known or options)]  # noqa: UP007


def _misfit(error: str, kind: Any, value: Any, path: str) -> str:
    options = (kind, *get_args(kind))
    literals = [str(c) for each in options if get_origin(each) is Literal for c in get_args(each)]
    expected = re.match(r"Expected `([^`]+)`( of length \d+)?", error)
    names = (
        expected[1].split(" | ")
        if expected
        else [each.__name__ for each in options if isinstance(each, type)]
    )
    words = [WORDS.get(name, name) for name in names if not (literals and name == "str")]
    inside = ""
    for place in re.findall(r"\[(\d+|\.\.\.)\]", error.partition("`$")[2]):
        if place == "...":  # msgspec does not say under which name of a mapping
            inside = "a value inside "
            break
        path, value = f"{path}[{place}]", value[int(place)]
    shown = shortened_value(repr(value), SHOWN)
    length = (expected and expected[2]) or ""
    where = f"the names in {path}" if "`key`" in error else f"{inside}{path}"
    near = nearest_text(str(value), literals)
    sentence = f"{where} must be {choices_text([*literals, *words])}{length}, got {shown}"
    return f"{sentence}.{near}" if near else sentence


def check_finite(value: object, path: str) -> None:
    """Raise RequestError for a number inside a setting that is infinite."""
    if isinstance(value, Mapping):
        for name, inside in value.items():
            check_finite(inside, f"{path}.{name}")
    elif any(map(math.isinf, numbers_in(value))):
        raise RequestError(f"{path} must be finite, got {shortened_value(str(value), SHOWN)}")


def numbers_in(value: object) -> Iterator[int | float]:
    """Yield the numbers of a value, those in its lists included."""
    if isinstance(value, list | tuple):
        for entry in value:
            yield from numbers_in(entry)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value
