"""A run as trackers record it: a configuration, and numbers by step."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from attnexp.imported.outside import (
    LARGEST,
    OutsideRun,
    Request,
    finite_or_none,
    require_names,
    seed_of,
)
from attnexp.runs.run_status import Status
from attnexp.runs.settings import Value, cell, leaves

WRITTEN_OUT = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""Numbers that JSON does not have, as trackers write them."""

NOT_ENDED = "it had not ended when it was imported"
"""The error of a run that was going on, or whose process died."""


@dataclass
class Tracked:
    """A run of a tracker. Names in the configuration that begin with `_` are the tracker's own.

    `points` are numbers by name, each with its step, in the order in which they were recorded;
    `final` are numbers without a step, which decide over the last ones with a step.
    """

    source: str
    name: str
    config: Mapping[str, Any] = field(default_factory=dict)
    points: list[tuple[float, Mapping[str, Any]]] = field(default_factory=list)
    final: Mapping[str, Any] = field(default_factory=dict)
    status: Status = Status.FINISHED
    started: str | None = None
    ended: str | None = None
    error: str | None = None


def outside_runs(runs: Sequence[Tracked], request: Request) -> list[OutsideRun]:
    """Return runs with the settings and metrics that are asked for, or with all of them.

    The seed is 0 in a run that has recorded none. A run that lacks a metric has no value of it.
    Raises RequestError for names that no run has, and for seeds that are not whole numbers.
    """
    settings = [_settings(run.config) for run in runs]
    curves = [_curve(run.points) for run in runs]
    final = [_final(run, curve) for run, curve in zip(runs, curves, strict=True)]
    if not runs:
        return []
    known = list(dict.fromkeys(name for each in settings for name in each))
    measured = list(dict.fromkeys(name for each in final for name in each))
    require_names(request.settings or (), known, "setting", "--settings")
    require_names(request.metrics or (), measured, "metric", "--metrics")
    if request.seed != Request().seed:
        require_names([request.seed], known, "setting", "--seed")
    chosen = known if request.settings is None else request.settings
    metrics = measured if request.metrics is None else request.metrics
    return [
        OutsideRun(
            source=run.source,
            name=run.name,
            seed=seed_of(own.get(request.seed, 0), run.source),
            settings={name: own[name] for name in chosen if name in own and name != request.seed},
            metrics={name: last[name] for name in metrics if name in last},
            epochs=_rows(curve, set(metrics)),
            status=run.status,
            started=run.started,
            ended=run.ended,
            error=run.error,
        )
        for run, own, curve, last in zip(runs, settings, curves, final, strict=True)
    ]


def numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers among nested values, by dotted path.

    An object with a `_type` is a picture, a table or the like, whose numbers are its size.
    """
    found, plain = (
        {},
        {
            name: value
            for name, value in values.items()
            if not (isinstance(value, Mapping) and "_type" in value)
        },
    )
    for name, value in leaves(plain):
        number = WRITTEN_OUT.get(value) if isinstance(value, str) else value
        if isinstance(number, int | float) and not isinstance(number, bool):
            is_large = isinstance(number, int) and abs(number) > LARGEST
            found[name] = math.inf if is_large else float(number)
    return {name: value for name, value in found.items() if not name.startswith("_")}


def _settings(config: Mapping[str, Any]) -> dict[str, Value]:
    """Return settings by dotted path as cells of a table, without those that are missing."""
    found = {}
    for name, value in leaves(config):
        if name.startswith("_") or value is None or value == {}:
            continue
        if isinstance(value, float) and finite_or_none(value) is None:
            continue
        whole = isinstance(value, int) and abs(value) > LARGEST
        found[name] = str(value) if whole else cell(value)
    return found


def _curve(points: Iterable[tuple[float, Mapping[str, Any]]]) -> dict[float, dict[str, float]]:
    """Return the numbers by step, in order of the steps; a later number replaces an earlier one."""
    found: dict[float, dict[str, float]] = {}
    for step, values in points:
        if own := numbers(values):
            found.setdefault(step, {}).update(own)
    return dict(sorted(found.items()))


def _final(run: Tracked, curve: Mapping[float, Mapping[str, float]]) -> dict[str, float | None]:
    last = {name: value for values in curve.values() for name, value in values.items()}
    return {name: finite_or_none(value) for name, value in {**last, **numbers(run.final)}.items()}


def _rows(curve: Mapping[float, Mapping[str, float]], names: set[str]) -> list[dict[str, float]]:
    """Return the rows of metrics.csv, none if there is only one, which makes no curve."""
    rows = [
        {"epoch": step, **{name: value for name, value in values.items() if name in kept}}
        for kept in [names - {"epoch"}]
        for step, values in curve.items()
        if kept & values.keys()
    ]
    return rows if len(rows) > 1 else []
