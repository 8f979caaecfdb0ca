"""Runs of a training loop of one's own, from Python, as run folders."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnexp.core.errors import RequestError, choices_text
from attnexp.imported.directions import direction_of
from attnexp.imported.outside import EXACT, LARGEST, SEED, OutsideRun
from attnexp.imported.selection import SelectedRun, stored
from attnexp.imported.write import Imports
from attnexp.runs.files import is_finite
from attnexp.runs.secret import why_not_stored
from attnexp.runs.settings import Value, clean
from attnexp.runs.summary import Direction

if TYPE_CHECKING:
    import pandas as pd

TOOL = "python"
"""The source of these runs, next to `csv`."""

WAYS: tuple[Direction, ...] = ("lower", "higher")

AXES = ("epoch", "step")
"""The columns by which a curve goes on, the one that decides first."""


def add_run(
    settings: Mapping[str, object],
    metrics: Mapping[str, float],
    *,
    seed: int = 0,
    curve: "pd.DataFrame | Mapping[str, object] | None" = None,
    better: Mapping[str, Direction] | None = None,
    name: str | None = None,
    output_dir: str | Path = "imported",
) -> Path:
    """Write a run of a training loop of your own, and return its folder.

    `attnexp results imported`, plots, reports and `load_results` take the run. A run of the same
    settings, seed and name is replaced. The folder appears whole or not at all.

    Args:
        settings: what was chosen, by name: text, numbers, true or false; None is left out.
        metrics: the final numbers by name. The first ranks. Infinity and NaN mean that the run
            diverged.
        seed: the seed, a whole number from 0 on. Runs are paired by it.
        curve: numbers by `epoch` or `step`, which ascends: a DataFrame, or columns by name. None
            and NaN are gaps. A single row is no curve.
        better: `{metric: "lower" or "higher"}` for a metric whose name does not say which values
            are better.
        name: a name to show. It does not tell rows of a table apart, which a setting does.
        output_dir: the folder in which the folder of the run is.

    Raises:
        RequestError: for an argument that is none of these, for a run that `attnexp import` has
            written, and for a folder that cannot be written.
    """
    chosen, measured = _settings(settings), _metrics(metrics, settings)
    number = _seed(seed)
    rows = [] if curve is None else _rows(curve)
    if name is not None:
        _named("name", name)
    run = OutsideRun(
        source="attnexp.add_run",
        settings=chosen,
        metrics=measured,
        identity=json.dumps([chosen, number, name], sort_keys=True),
        name=name,
        last_step=rows[-1]["epoch"] if rows else None,
    )
    selected = SelectedRun(
        run=run,
        seed=number,
        settings=dict(stored(chosen)),
        metrics=measured,
        epochs=rows,
        primary=next(iter(measured)),
        better=_directions([*measured], {} if better is None else better),
        headline=[*measured],
    )
    imports = Imports(_folder(output_dir), TOOL, "", "output_dir")
    imports.require_own(selected)
    return imports.write(selected)[0]


def _named(what: str, name: object) -> str:
    """Return a name. Raises RequestError if it is no text that can be printed."""
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise RequestError(f"{what}: a name is text that can be printed, got {name!r:.60}")
    return name


def _by_name(what: str, values: object) -> Mapping[Any, Any]:
    if not isinstance(values, Mapping):
        raise RequestError(f"{what} are values by name, such as {{'lr': 0.1}}, got {values!r:.60}")
    return values


def _settings(settings: object) -> dict[str, Value]:
    """Return the settings that are not None, as cells of a table."""
    found: dict[str, Value] = {}
    for name, value in _by_name("settings", settings).items():
        if _named("settings", name) == SEED:
            raise RequestError("settings: 'seed' is an argument of its own: add_run(..., seed=3)")
        if why := why_not_stored(name, value):
            raise RequestError(f"settings: {why}: leave it out, or choose another name")
        if value is not None:
            found[name] = _setting(name, value)
    return found


def _setting(name: str, value: object) -> Value:
    """Return a setting as a cell; a number of NumPy is one of Python."""
    if isinstance(value, str | bool):
        return clean(value) if isinstance(value, str) else value
    if isinstance(value, Integral) and abs(int(value)) <= LARGEST:
        return int(value)
    if isinstance(value, Real) and not isinstance(value, Integral) and is_finite(float(value)):
        return _plain(float(value))
    raise RequestError(
        f"settings: '{name}' is {value!r:.60}, and a setting is text, a finite number below 2^63, "
        "True, False or None"
    )


def _plain(number: float) -> float:
    """Return a number as an integer if it is whole, so that 1 and 1.0 are one setting."""
    return int(number) if number.is_integer() and abs(number) < EXACT else number


def _number(where: str, value: object) -> float:
    """Return a number, which may be infinite or NaN. Raises RequestError for another value."""
    if isinstance(value, Real) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            pass
    hint = "; .item() of a tensor is one" if hasattr(value, "item") else ""
    raise RequestError(f"{where} is {value!r:.60}, and not a number{hint}")


def _metrics(metrics: object, settings: Mapping[str, object]) -> dict[str, float]:
    found = {
        _named("metrics", name): _number(f"metrics: '{name}'", value)
        for name, value in _by_name("metrics", metrics).items()
    }
    if not found:
        raise RequestError("metrics: a run has one metric or more, such as {'accuracy': 0.9}")
    if both := next((name for name in found if name in {*settings, SEED}), None):
        raise RequestError(f"metrics: '{both}' is a setting or the seed already")
    return found


def _directions(metrics: Sequence[str], given: object) -> dict[str, Direction]:
    """Return which values of a metric are better, as given or by its name, if either says it.

    Raises RequestError if neither does of the first, which ranks.
    """
    ways = _by_name("better", given)
    for name, way in ways.items():
        if name not in metrics:
            raise RequestError(f"better: {name!r:.60} is no metric: choose {choices_text(metrics)}")
        if way not in WAYS:
            raise RequestError(f"better: '{name}' is {way!r:.60}: choose 'lower' or 'higher'")
    found = {name: ways.get(name) or direction_of(name) for name in metrics}
    if found[first := metrics[0]] is None:
        raise RequestError(
            f"metrics: the name of '{first}' does not say which values are better: add "
            f"better={{{first!r}: 'higher'}} or 'lower'"
        )
    return {name: way for name, way in found.items() if way is not None}


def _seed(seed: object) -> int:
    if isinstance(seed, Integral) and not isinstance(seed, bool) and 0 <= int(seed) <= LARGEST:
        return int(seed)
    raise RequestError(f"seed is a whole number from 0 to 2^63 - 1, got {seed!r:.60}")


def _rows(curve: Any) -> list[dict[str, float]]:
    """Return the rows of a curve by `epoch`, which ascends, each without its gaps."""
    columns = _columns(curve)
    axis = next((name for name in AXES if name in columns), None)
    if axis is None or len(columns) < 2:
        raise RequestError(
            "curve has a column 'epoch' or 'step' and one column or more beside it, got "
            f"{', '.join(map(repr, columns)) or 'none'}"
        )
    steps = [_number(f"curve: '{axis}'", value) for value in columns.pop(axis)]
    for before, after in pairwise([-EXACT, *steps]):
        if not before < after < EXACT:
            raise RequestError(f"curve: '{axis}' does not ascend: {after:g} comes after {before:g}")
    rows = [{"epoch": _plain(step)} for step in steps]
    for name, values in columns.items():
        for row, value in zip(rows, values, strict=True):
            number = math.nan if value is None else _number(f"curve: '{name}'", value)
            if not math.isnan(number):
                row[name] = number
    return rows


def _columns(curve: Any) -> dict[str, list[Any]]:
    """Return the columns of a DataFrame or of a mapping, each as a list of the same length."""
    if not hasattr(curve, "keys"):
        raise RequestError(f"curve is a DataFrame, or columns by name, got {curve!r:.60}")
    names = [_named("curve", name) for name in curve.keys()]  # noqa: SIM118 (a DataFrame's too)
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise RequestError(f"curve: {names.count(twice)} columns are named '{twice}'")
    columns = {name: _column(name, curve[name]) for name in names}
    if len({*map(len, columns.values())}) > 1:
        lengths = ", ".join(f"{len(values)} in '{name}'" for name, values in columns.items())
        raise RequestError(f"curve: its columns have one length, got {lengths}")
    return columns


def _column(name: str, values: Any) -> list[Any]:
    if not hasattr(values, "__len__") or isinstance(values, str | bytes):
        raise RequestError(f"curve: '{name}' is a list of numbers, got {values!r:.60}")
    return list(values)


def _folder(output_dir: object) -> Path:
    if not isinstance(output_dir, str | os.PathLike):
        raise RequestError(f"output_dir is the path of a folder, got {output_dir!r:.60}")
    return Path(_named("output_dir", os.fspath(output_dir)))
