"""A run as another program has recorded it, and which parts of it are asked for."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from attnexp.core.errors import RequestError, choices_text, nearest_text, with_choices
from attnexp.runs.files import is_finite
from attnexp.runs.run_status import Status
from attnexp.runs.settings import Value
from attnexp.runs.summary import Direction

SEED = "seed"
"""The setting that is the seed, if nothing else is said."""

WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")
NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)", re.ASCII)
POWER = re.compile(
    r"[+-]?(\d(\.\d*)?[eE][+-]?|(0|[1-9]\d*)\.\d*[eE][+-]?|[1-9]\d*[eE][+-])\d{1,3}", re.ASCII
)
"""Text that is a whole number, a number, and a number with an exponent.

`007`, `00e1` and `1234e56` are none of them: they are as likely the name of a commit.
"""

LARGEST = 2**63 - 1
"""The largest whole number of a setting, so that any reader of JSON takes it."""

EXACT = 2**53
"""Steps below it are exact in any reader of numbers."""

DIGITS = len(str(-LARGEST))
"""The most characters of such a number."""


@dataclass(frozen=True)
class ImportRequest:
    """Which settings and metrics are imported; None for all that a chart has.

    `seed` is the name of the seed, `better` the directions of metrics that were given, and
    `name_as` the setting that the names of runs become.
    """

    settings: Sequence[str] | None = None
    metrics: Sequence[str] | None = None
    seed: str = SEED
    better: Mapping[str, Direction] = field(default_factory=dict)
    name_as: str | None = None


@dataclass(frozen=True, slots=True)
class OutsideRun:
    """A run that another program has trained, with all that is known of it.

    - `source` says which run it is, as in `line 3 of runs.csv`. `identity` stays the same if the
      run is imported again; if it is empty, settings and seed are the identity.
    - `settings` are by dotted path, the seed among them; `metrics` are the final values, which may
      be infinite or NaN.
    - `epochs` are the rows of its curves, each with a column `epoch`, which ascends, and
      `last_step` is the last step that was recorded.
    - `error` says why it ended early.
    - `others` are recorded values that are neither settings nor metrics.
    """

    source: str
    settings: Mapping[str, Value]
    metrics: Mapping[str, float]
    identity: str = ""
    name: str | None = None
    epochs: Sequence[Mapping[str, float]] = ()
    last_step: float | None = None
    status: Status = Status.FINISHED
    error: str | None = None
    others: Mapping[str, Value] = field(default_factory=dict)


def seed_of(value: Value) -> int | None:
    """Return a seed, a whole number from 0 on; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not math.isfinite(value) or value != int(value) or not 0 <= value <= LARGEST:
        return None
    return int(value)


def value_of(cell: str) -> Value:
    """Return text as a whole number, a number, true or false if it is one, or None if it is none.

    Empty text and `None` are none. A whole number above `LARGEST` is text, as a float would not
    hold all its digits.
    """
    text = cell.strip()
    if WHOLE.fullmatch(text):
        return int(text) if len(text) <= DIGITS and abs(int(text)) <= LARGEST else text
    if (NUMBER.fullmatch(text) or POWER.fullmatch(text)) and is_finite(float(text)):
        return float(text)
    return {"": None, "none": None, "true": True, "false": False}.get(text.lower(), text)


def number_in(cell: str, where: str) -> float:
    """Return the number in a cell, which may be infinite or NaN; `where` begins errors.

    Raises RequestError for other text, `1_000` among it.
    """
    try:
        return float(cell if cell.isascii() and "_" not in cell else "")
    except ValueError:
        raise RequestError(f"{where} is {cell!r:.60}, and not a number") from None


def require_names(names: Iterable[str], known: Sequence[str], what: str, option: str) -> None:
    """Raise RequestError for a name of an option that is not known."""
    for name in names:
        if name not in known:
            problem = f"{option}: there is no {what} '{name}'"
            choices = f"choose {choices_text(known)}"
            raise RequestError(
                with_choices(problem, nearest_text(name, known), choices).removesuffix(".")
            )
