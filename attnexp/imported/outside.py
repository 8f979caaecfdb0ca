"""A run as another tool has recorded it, and which parts of it are asked for."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from attnexp.core.errors import RequestError, choices_text, nearest_text, with_choices
from attnexp.runs.files import is_finite
from attnexp.runs.run_status import Status
from attnexp.runs.settings import Value
from attnexp.runs.summary import Direction

HIGHER = ("accuracy", "acc", "f1", "bleu", "match", "score")
"""Parts of the names of metrics of which higher values are better, if nothing else is said."""

SEED = "seed"
"""The setting that is the seed, if nothing else is said."""

WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
"""Text that is a whole number of up to 18 digits, and text that is a number."""

LARGEST = 2**63 - 1
"""The largest seed, so that any reader of JSON takes it."""


@dataclass(frozen=True)
class Request:
    """Which settings and metrics are imported; None for all that the tool has recorded.

    `seed` is the name of the seed, `better` the directions of metrics that were given.
    """

    settings: Sequence[str] | None = None
    metrics: Sequence[str] | None = None
    seed: str = SEED
    better: Mapping[str, Direction] = field(default_factory=dict)

    def direction(self, metric: str) -> Direction:
        """Return which values of a metric are better: as given, or by its name."""
        guessed: Direction = "higher" if any(part in metric.lower() for part in HIGHER) else "lower"
        return self.better.get(metric, guessed)


@dataclass(frozen=True)
class OutsideRun:
    """A run of another tool.

    - `source` says which run it is, as in `row 3 of runs.csv`; `name` is its name or number in the
      tool, empty if it has none.
    - `settings` are by dotted path, without the seed; `metrics` are the final values, None for one
      that is not a finite number.
    - `epochs` are the rows of its curves, each with a column `epoch`, which ascends.
    - `started` and `ended` are dates in the form of ISO 8601, `error` says why it ended early.
    """

    source: str
    seed: int
    settings: Mapping[str, Any]
    metrics: Mapping[str, float | None]
    name: str = ""
    epochs: Sequence[Mapping[str, float]] = ()
    status: Status = Status.FINISHED
    started: str | None = None
    ended: str | None = None
    seconds: float | None = None
    error: str | None = None


def seed_of(value: object, where: str) -> int:
    """Return a seed. `where` begins the sentence of the error.

    Raises RequestError for anything but a whole number from 0 on.
    """
    number = float(value) if isinstance(value, int) and not isinstance(value, bool) else value
    whole = isinstance(number, float) and number.is_integer() and 0 <= number < LARGEST
    if not whole or not isinstance(value, int | float):
        raise RequestError(f"{where}: the seed is {value!r:.60}, and not a whole number from 0 on")
    return int(value)


def value_of(cell: str) -> Value:
    """Return text as a whole number, a number, true or false if it is one, or None if empty."""
    text = cell.strip()
    if WHOLE.fullmatch(text):
        return int(text)
    if NUMBER.fullmatch(text) and finite_or_none(float(text)) is not None:
        return float(text)
    return {"": None, "true": True, "false": False}.get(text.lower(), text)


def finite_or_none(value: float) -> float | None:
    """Return a number, or None for NaN and infinities."""
    return value if is_finite(value) else None


def require_names(names: Iterable[str], known: Sequence[str], what: str, option: str) -> None:
    """Raise RequestError for a name of an option that is not known."""
    for name in names:
        if name not in known:
            problem = f"{option}: there is no {what} '{name}'"
            choices = f"choose {choices_text(known)}"
            raise RequestError(
                with_choices(problem, nearest_text(name, known), choices).removesuffix(".")
            )


def require_different(runs: Sequence[OutsideRun], seed: str) -> None:
    """Raise RequestError if two runs have the same settings and seed: only one of them counts."""
    met: dict[tuple[int, tuple[tuple[str, Value], ...]], str] = {}
    for run in runs:
        key = run.seed, tuple(sorted((name, str(value)) for name, value in run.settings.items()))
        if key in met:
            raise RequestError(
                f"{met[key]} and {run.source} have the same settings and seed {run.seed}: name the "
                f"column in which they differ by --settings, or by --seed (now {seed})"
            )
        met[key] = run.source
