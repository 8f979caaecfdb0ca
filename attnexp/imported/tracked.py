"""A run as trackers record it: a configuration, and numbers by step."""

import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from attnexp.core.errors import RequestError
from attnexp.imported.attempts import LoggedPoint, TwoTrainingsError, last_attempt
from attnexp.imported.outside import LARGEST, OutsideRun
from attnexp.runs.folder import NOT_COMPARED, OF_SEED
from attnexp.runs.run_status import Status
from attnexp.runs.settings import Value, cell, leaves
from attnexp.trackers.base import FINAL, PRIMARY, TRAINING

WRITTEN_OUT = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""Numbers that JSON does not have, as trackers write them."""

NOT_ENDED = "it had not ended when it was imported"
"""The error of a run that was going on, or whose process died."""

EXACT = 2**53
"""Steps below it are exact in any reader of numbers."""


@dataclass
class Tracked:
    """A run of a tracker. Names in the configuration that begin with `_` are the tracker's own.

    `points` are in the order in which they were recorded; `final` are numbers without a step, which
    decide over the last ones with a step. `identity` is the same if the run is read again.
    `files` were read, and `voided` is the number of points that they themselves call void.
    """

    source: str
    identity: str
    names: Mapping[str, str]
    config: Mapping[str, Any] = field(default_factory=dict)
    points: list[LoggedPoint] = field(default_factory=list)
    files: int = 0
    voided: int = 0
    final: Mapping[str, Any] = field(default_factory=dict)
    status: Status = Status.FINISHED
    started: str | None = None
    ended: str | None = None
    error: str | None = None


def outside_runs(runs: Iterable[Tracked]) -> tuple[list[OutsideRun], list[str]]:
    """Return runs with their settings, final numbers and curves, and notes on omissions.

    A run in which two trainings follow each other is left out. Raises RequestError if that leaves
    none, and for names that are not text or that two settings share.
    """
    found: list[OutsideRun] = []
    notes: list[str] = []
    refused: list[str] = []
    for run in runs:
        try:
            found.append(_outside(run, notes))
        except TwoTrainingsError as error:
            refused.append(f"{run.source} holds two trainings: {error}; make each its own run")
    if refused and not found:
        raise RequestError(refused[0])
    return found, [*(f"left out: {sentence}" for sentence in refused), *notes]


def _outside(run: Tracked, notes: list[str]) -> OutsideRun:
    own = isinstance(run.config.get(PRIMARY), str)
    recorded = [point._replace(values=numbers(point.values, run.source)) for point in run.points]
    points = last_attempt(recorded)
    if gone := run.voided + len(recorded) - len(points):
        left_out = f"{gone} points of an earlier attempt are left out"
        notes.append(f"{run.source} was restarted: {left_out}")
    final = numbers(run.final, run.source)
    if own:
        final |= {name: value for point in points for name, value in point.values.items()}
        final = _below(FINAL, final)
        points = [point._replace(values=_below(TRAINING, point.values)) for point in points]
    last = {name: value for point in points for name, value in point.values.items()}
    curve, inexact = _curve(points)
    if inexact:
        notes.append(
            f"{run.source}: {inexact} points are in no curve: their step is not below 2^53"
        )
    return OutsideRun(
        source=run.source,
        identity=run.identity,
        names=run.names,
        settings=_settings(run.config, run.source, NOT_COMPARED - OF_SEED if own else frozenset()),
        metrics=final if own and final else {**last, **final},
        epochs=[{**values, "epoch": step} for step, values in curve.items()][len(curve) == 1 :],
        last_step=max(curve, default=None),
        primary=run.config[PRIMARY] if own else None,
        status=run.status,
        started=run.started,
        ended=run.ended,
        error=run.error,
    )


def _below(prefix: str, values: Mapping[str, float]) -> dict[str, float]:
    """Return the numbers whose names have a prefix, without it."""
    return {
        name.removeprefix(prefix): value
        for name, value in values.items()
        if name.startswith(prefix)
    }


def numbers(values: Mapping[str, Any], where: str) -> dict[str, float]:
    """Return the numbers among nested values, by dotted path; `where` begins an error's sentence.

    An object with a `_type` is a picture, a table or the like, whose numbers are its size. Raises
    RequestError for a name that is not text.
    """
    found = {}
    plain = {
        name: value
        for name, value in values.items()
        if not (isinstance(value, Mapping) and "_type" in value)
    }
    for name, value in leaves(plain):
        number = WRITTEN_OUT.get(value) if isinstance(value, str) else value
        if isinstance(number, int | float) and not isinstance(number, bool) and name[:1] != "_":
            is_large = isinstance(number, int) and abs(number) > sys.float_info.max
            found[_text(name, where)] = math.inf if is_large else float(number)
    return found


def _settings(config: Mapping[str, Any], where: str, left_out: frozenset[str]) -> dict[str, Value]:
    """Return settings by dotted path as cells of a table, without those that are missing.

    A setting at or below a path in `left_out` is left out.
    """
    found: dict[str, Value] = {}
    for name, value in leaves(config):
        if name.startswith("_") or value is None or value == {} or value == "None":
            continue
        if {name, name.partition(".")[0]} & left_out:
            continue
        is_plain = not isinstance(value, int | float) or abs(value) <= LARGEST
        own = cell(value) if is_plain else str(value)
        if found.setdefault(_text(name, where), own) != own:
            raise RequestError(f"{where} has two settings '{name}': {found[name]!r} and {own!r}")
    return found


def _text(name: str, where: str) -> str:
    """Return a name. Raises RequestError if it is not text."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise RequestError(f"{where} has a name that is not text: {name!r:.60}") from None
    return name


def _curve(points: Iterable[LoggedPoint]) -> tuple[dict[float, dict[str, float]], int]:
    """Return the numbers by step, in order, and how many points have a step that is not exact."""
    found: dict[float, dict[str, float]] = {}
    inexact = 0
    for point in points:
        if not abs(point.step) < EXACT:
            inexact += bool(point.values)
        elif point.values:
            found.setdefault(point.step, {}).update(point.values)
    return dict(sorted(found.items())), inexact
