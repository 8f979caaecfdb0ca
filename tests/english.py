"""The texts of values in English, for tests that do not look at the Chinese."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from attnexp.core.language import Text
from attnexp.select.frame import Frame
from attnexp.tables.entries import TableRequest
from attnexp.tables.reports import configurations_report


def english(value: Any) -> Any:
    """Return a value in which each text of two languages is a string in English."""
    if isinstance(value, Text):
        return value.en
    if isinstance(value, list | tuple):
        return type(value)(map(english, value))
    if isinstance(value, Mapping):
        return {english(name): english(each) for name, each in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value, **{one.name: english(getattr(value, one.name)) for one in fields(value)}
        )
    return value


def report_of(runs: Frame, request: TableRequest) -> Any:
    """Return the tables of a request in English."""
    return english(configurations_report(runs, request))
