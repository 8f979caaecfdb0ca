"""The overrides of a sweep: each `name=values` of the command line, and the single values."""

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import isfinite
from typing import Any, cast

from hydra.core.override_parser.types import Glob, QuotedString, RangeSweep, Sweep, Transformer
from hydra.core.override_parser.types import Override as ParsedOverride
from hydra.errors import HydraException

from attnexp.config.words import readable

MOST_VALUES = 100_000

NUMBER = re.compile(r"(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:e[+-]?[\d_]+)?", re.IGNORECASE)
"""A number as it is typed, without its sign."""

PLAIN = (bool, int, float, str, type(None))
"""Types of values that can be set on a composed configuration."""


@dataclass(frozen=True)
class Override:
    """One `name=value` of a job's command line.

    `value` is a tuple of the value, or None if the value is not plain.
    """

    text: str
    value: tuple[Any] | None

    @property
    def typed(self) -> str:
        """The value as on the command line."""
        return self.text.partition("=")[2]


@dataclass(frozen=True)
class Axis:
    """One name of the command line with all its values in the sweep.

    `plain` is true if the values can be set on a composed configuration.
    """

    name: str
    overrides: tuple[Override, ...]
    plain: bool

    @property
    def path(self) -> str:
        """The path of the setting or the group in the configuration."""
        return self.name.lstrip("+~")


def expand(override: ParsedOverride) -> tuple[Override, ...]:
    """Return an override for each value of a parsed override.

    Raises HydraException for an interval, which has no list of values, for a sweep among values,
    and for no value or too many.
    """
    name = override.get_key_element()
    if not override.is_sweep_override():
        assert override.input_line is not None
        return (Override(override.input_line, _plain_value(override.value())),)
    if not override.is_discrete_sweep():
        raise HydraException(
            f"{override.input_line} names no list of values: write them, as in 1,2,5 or range(1,6)"
        )
    try:
        values = cast(Iterable[Any], _decimal(override).sweep_iterator())
        first = list(itertools.islice(values, MOST_VALUES + 1))
    except (ValueError, TypeError, ArithmeticError) as error:
        raise HydraException(f"{override.input_line} names no list of values: {error}") from error
    if not first:
        raise HydraException(
            f"{override.input_line} names no value: write range(6), or a glob() that choices match"
        )
    if len(first) > MOST_VALUES:
        raise HydraException(f"{override.input_line} names more than {MOST_VALUES:,} values")
    if any(isinstance(value, Sweep | Glob) for value in first):
        raise HydraException(
            f"{override.input_line} has a sweep among its values, such as a range(), which Hydra "
            "does not read: list all values, or write one range"
        )
    return tuple(
        Override(readable(f"{name}={Transformer.str(value)}"), _plain_value(value))
        for value in first
    )


def _decimal(override: ParsedOverride) -> ParsedOverride:
    """Return an override whose range() counts in decimals, as it is typed: 0.3, not 0.1 + 0.2.

    Raises ValueError for bounds that are not finite.
    """
    span = override.value()
    if not isinstance(span, RangeSweep) or override.input_line is None:
        return override
    typed = NUMBER.findall(override.input_line.partition("=")[2])
    unit = min(map(Decimal, typed), key=_exponent, default=Decimal(1))
    parts = {name: _in_units(getattr(span, name), unit) for name in ("start", "stop", "step")}
    return replace(override, _value=replace(span, **parts))


def _exponent(number: Decimal) -> int:
    return cast(int, number.as_tuple().exponent)


def _in_units(number: float, unit: Decimal) -> Any:
    """Return an integer unchanged, and a float as a decimal rounded to the digits of `unit`."""
    if isinstance(number, int):
        return number
    if not isfinite(number):
        raise ValueError(f"{number} is not finite")
    exact = Decimal(str(number))
    return exact if _exponent(exact) >= _exponent(unit) else exact.quantize(unit)


def _plain_value(value: Any) -> tuple[Any] | None:
    """Return a plain value in a tuple, or None for a value that Hydra must compose."""
    plain = value.text if isinstance(value, QuotedString) else value
    if not isinstance(plain, PLAIN) or (
        isinstance(plain, str) and ("${" in plain or plain == "???")
    ):
        return None
    return (plain,)


def is_plain(overrides: Sequence[Override], path: str, settings: Sequence[str]) -> bool:
    """Return whether the values of an axis can be set on a composed configuration.

    The values must vary, be plain, and belong to a setting, not to a group. No other override may
    contain the setting or be part of it.
    """
    parts = [other for other in settings if _contains(path, other) or _contains(other, path)]
    values_are_plain = all(override.value is not None for override in overrides)
    return len(overrides) > 1 and parts == [path] and values_are_plain


def _contains(path: str, other: str) -> bool:
    return f"{other}.".startswith(f"{path}.")
