"""The content of a report as plain values, which its page draws."""

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from attnexp.core import console
from attnexp.core.console import setting_text
from attnexp.core.errors import RequestError
from attnexp.plots.colours import VIRIDIS, hexadecimal
from attnexp.plots.lines import (
    asked_columns,
    compared_curves,
    has_fit,
    runs_of,
    training_points,
    wants_log,
    words,
)
from attnexp.report.results import every_run, place_of, result_content
from attnexp.runs.attention import Attention, Axis, is_uneven, same_examples, scale_end
from attnexp.runs.folder import Run
from attnexp.runs.origin.command_line import command
from attnexp.runs.run_status import Status
from attnexp.runs.summary import Summary, error_text
from attnexp.select.configurations import Comparison, Configuration, labels, seeds_by_epoch
from attnexp.select.frame import make_frame
from attnexp.select.order import sort_runs
from attnexp.select.renaming import KEPT, Renaming
from attnexp.stats.scaled import mean_row
from attnexp.tables.entries import TableRequest, divide
from attnexp.tables.reports import tables_report

Part = TypeVar("Part")

POINTS = 400
"""The most points of a line; more would not be visible."""

EXAMPLES, EPOCHS, MAPPED = 8, 8, 24
"""Test examples, epochs of a growing attention, and configurations whose attention is shown."""


Computed = Callable[[Comparison], list[dict[str, Any]]]
"""Gives the program of each configuration, or the reason why there is none."""


def report_content(
    title: str,
    runs: Sequence[Run],
    comparisons: Sequence[Comparison],
    left_out: Sequence[str] = (),
    computed: Computed | None = None,
    progress: str = "",
    renaming: Renaming = KEPT,
) -> dict[str, Any]:
    """Return the content of a page: verdicts, results by table, pictures by data set, remarks.

    `notes` have to be read with the verdicts, and `further` are the remarks that change less. A
    part that cannot be made is such a remark, and a warning; `left_out` are those about runs
    that are in the tables alone. `computed` gives the programs of a comparison, if any.
    `progress` says how far runs are that have not finished; their curves so far are on the page
    then. `renaming` is for tables and verdicts; comparisons have their names already.
    """
    frame = sort_runs(make_frame(runs, renaming), None)
    request = TableRequest(costs=True)
    tables = divide(frame, request)
    report = tables_report(tables, request)
    further = [*report.further, *(f"left out of pictures: {reason}" for reason in left_out)]
    grids = zip(tables, report.grids[::2], report.grids[1::2], strict=True)
    return {
        "title": title,
        "colours": [hexadecimal(colour) for colour in VIRIDIS],
        "verdicts": list(report.verdicts),
        "results": [result_content(*each) for each in grids],
        "data": [
            {
                **_data(one, further),
                "result": place_of(one, tables),
                "computed": computed(one) if computed else [],
            }
            for one in comparisons
        ],
        "every": list(every_run(frame)),
        "notes": list(report.notes),
        "further": further,
        "live": {"text": progress, "charts": [*_running(runs)]} if progress else None,
    }


def tensors_content(
    title: str,
    program: Mapping[str, Any],
    given: Mapping[str, Sequence[float]],
    names: Mapping[str, str | None],
) -> dict[str, Any]:
    """Return the content of a page of one attention, whose given tensors can be edited."""
    chosen = ", ".join(f"{name} {choice}" for name, choice in names.items() if choice)
    computed = {"kind": "tensors", "label": chosen, "programs": {"steps": program}, "given": given}
    data: dict[str, Any] = {"name": chosen, "charts": [], "attention": None, "configurations": []}
    return {
        "title": title,
        "colours": [hexadecimal(colour) for colour in VIRIDIS],
        "verdicts": [],
        "results": [{"name": chosen, "compared": "", "dots": None, "table": None}],
        "every": [],
        "notes": [],
        "further": [],
        "live": None,
        "data": [{**data, "result": 0, "computed": [computed]}],
    }


def _running(runs: Sequence[Run]) -> Iterable[dict[str, Any]]:
    """Yield the charts of the epochs so far of the runs that are running, by data set."""
    going = [run for run in runs if run.status is Status.RUNNING and run.epochs]
    for data in dict.fromkeys(run.data for run in going):
        own = [run for run in going if run.data == data]
        names = zip(labels(own), own, strict=True)
        each = tuple(Configuration(f"{name}, seed {run.seed}", (run,)) for name, run in names)
        for spec in _training(Comparison(data, each), own):
            yield spec | {"title": f"{data}: {spec['y']} so far"}


def _data(comparison: Comparison, further: list[str]) -> dict[str, Any]:
    runs = runs_of(comparison)
    made = partial(_made, comparison.data, further)
    losses = made("losses", lambda: [*_training(comparison, runs)])
    fit = made("fit", lambda: [*_fit(comparison, runs)])
    return {
        "name": comparison.data,
        "charts": [*(losses or ()), *(fit or ())],
        "attention": made("attention", lambda: _attention(comparison)),
        "configurations": [_configuration(one) for one in comparison.configurations],
    }


def _made(data: str, further: list[str], what: str, make: Callable[[], Part]) -> Part | None:
    """Return a part of a page, or None and a remark about the error of making it."""
    try:
        return make()
    except Exception as error:  # runs that are fit to be drawn alone may not fit each other
        further.append(f"no {what} of {data}: {error_text(error)}")
        console.warn_aside(further[-1])
        return None


def _training(comparison: Comparison, runs: Sequence[Run]) -> Iterable[dict[str, Any]]:
    """Yield a chart for every loss, and for the primary metric if it was validated.

    A line is a configuration, with its band over seeds. A column without a finite number has
    no chart.
    """
    primary = {f"val_{run.summary.primary}" for run in runs}
    there = dict.fromkeys(name for run in runs for name in run.epochs if name in primary)
    for column in [*asked_columns(runs, None), *there]:
        lines, values = [], []
        for place, one in enumerate(comparison.configurations):
            if all(column in run.epochs for run in one.runs):
                epochs, found = seeds_by_epoch(one, column)
                lines.append(_line(place, one, epochs, found))
                values.append(found.ravel())
        together = np.concatenate(values) if values else np.zeros(0)
        if np.isfinite(together).any():
            yield {
                "title": words(column).capitalize(),
                "x": "epoch",
                "y": words(column),
                "log": wants_log([column], together),
                "lines": lines,
                "points": [],
            }


def _fit(comparison: Comparison, runs: Sequence[Run]) -> Iterable[dict[str, Any]]:
    if not all(has_fit(run) for run in runs):
        return
    x, truth, predictions = compared_curves(comparison)
    names = runs[0].attention
    known = []
    if truth is not None:
        known = [{"label": "truth", "place": None, "x": plain(x), "mean": plain(truth)}]
    same = all(same_examples(runs[0].attention, run.attention) for run in runs[1:])
    lines = [
        _line(place, comparison.configurations[place], x, values)
        for place, values in predictions.items()
    ]
    yield {
        "title": "Fit",
        "x": next(iter(names.x_names), "x"),
        "y": names.y_name or "y",
        "log": False,
        "lines": [*known, *lines],
        "points": [plain(point) for point in training_points(runs[0])] if same else [],
    }


def _line(
    place: int, one: Configuration, x: NDArray[np.float64], values: NDArray[np.float64]
) -> dict[str, Any]:
    """Return the mean and the ends of values that have one row per seed."""
    few = np.unique(np.linspace(0, len(x) - 1, min(len(x), POINTS)).astype(int))
    line = {
        "label": one.label,
        "place": place,
        "seeds": len(one.runs),
        "x": plain(x[few]),
        "mean": plain(mean_row(values)[few]),
    }
    if len(one.runs) > 1:
        line |= {"low": plain(values.min(axis=0)[few]), "high": plain(values.max(axis=0)[few])}
    return line


def _attention(comparison: Comparison) -> dict[str, Any] | None:
    """Return the maps of the typical seed, on the same examples.

    None if there is no such seed, or the examples are not the same.
    """
    if not comparison.seeds:
        return None
    seed = comparison.typical_seed
    few = comparison.configurations[:MAPPED]
    shown = [one.with_seed(seed) for one in few]
    try:
        attentions = [run.attention for run in shown]
    except RequestError:
        return None
    if not all(same_examples(attentions[0], attention) for attention in attentions[1:]):
        return None
    axes: list[dict[str, Any]] = []
    configurations = [
        {"label": one.label, "attentions": _attentions(run, axes)}
        for one, run in zip(few, shown, strict=True)
    ]
    names = dict.fromkeys(name for one in attentions for name in _main_first(one))
    ends = {
        name: scale_end(
            np.concatenate([weights.ravel() for weights in own]).astype(np.float64),
            max(weights.shape[-1] for weights in own),
        )[0]
        for name in names
        if (own := [one.weights[name][:EXAMPLES] for one in attentions if name in one.weights])
    }
    return {
        "seed": seed,
        "omitted": len(comparison.configurations) - len(shown),
        "names": list(names),
        "ends": {name: float(f"{end:.4g}") for name, end in ends.items()},
        "rooted": [name for name, end in ends.items() if _is_rooted(name, end, shown)],
        "axes": axes,
        "configurations": configurations,
    }


def _attentions(run: Run, axes: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the attentions of a run by name; of the main one also its growth, if it was kept."""
    attention = run.attention
    found = {}
    for name in _main_first(attention):
        layers, heads = attention.weights[name].shape[1:3]
        frames = [_frame(one, name, epoch, axes) for epoch, one in _growth(run, name)]
        found[name] = {"layers": layers, "heads": heads, "frames": frames}
    return found


def _growth(run: Run, name: str) -> list[tuple[int | None, Attention]]:
    """Return the attention after some epochs, if it was kept, and at the end, without epoch."""
    kept = sorted(run.snapshots) if name == run.attention.main else []
    few = np.unique(np.linspace(0, len(kept) - 1, EPOCHS if kept else 0).round().astype(int))
    return [*((kept[i], run.snapshots[kept[i]]) for i in few), (None, run.attention)]


def _is_rooted(name: str, end: float, runs: Sequence[Run]) -> bool:
    """Return whether the colours of maps of numbers are those of the square roots of weights.

    They are if the largest weight of any map is small: of a head, or of the mean of all.
    """
    there = [run for run in runs if name in run.attention.weights]
    if there[0].attention.map(name, 0, 0, None).rows.numbers is None:
        return False
    largest = [
        np.nanmax(weights, axis=(-2, -1), initial=0.0).min()
        for run in there
        for _, one in _growth(run, name)
        for heads in [one.weights[name][:EXAMPLES].astype(np.float64)]
        for weights in (heads, heads.mean(axis=2))
    ]
    return is_uneven(largest, end)


def _frame(
    attention: Attention, name: str, epoch: int | None, axes: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the maps of one epoch. Weights are bytes from 0 to 255, for 0 to the `largest`."""
    weights = attention.weights[name][:EXAMPLES]
    largest = float(weights[np.isfinite(weights)].max(initial=0)) or 1.0
    layers, heads = weights.shape[1:3]
    maps = []
    for example in range(len(weights)):
        all_heads = [
            attention.map(name, example, layer, head)
            for layer in range(layers)
            for head in range(heads)
        ]
        shares = np.stack([one.weights for one in all_heads]) / largest
        cells = np.nan_to_num(shares, nan=0.0).clip(0, 1) * 255
        first = all_heads[0]
        maps.append(
            {
                "rows": _axis(first.rows, axes),
                "columns": _axis(first.columns, axes),
                "gold": None if first.gold is None else first.gold.tolist(),
                "weights": base64.b64encode(cells.round().astype(np.uint8).tobytes()).decode(),
            }
        )
    return {"epoch": epoch, "largest": float(f"{largest:.4g}"), "maps": maps}


def _axis(side: Axis, axes: list[dict[str, Any]]) -> int:
    """Return the index of a side in the list of all, to which it is added if it is new."""
    numbers = None if side.numbers is None else plain(side.numbers)
    content = {"name": side.name, "symbols": list(side.symbols), "numbers": numbers}
    if content not in axes:
        axes.append(content)
    return axes.index(content)


def _main_first(attention: Attention) -> list[str]:
    return list(dict.fromkeys([attention.main, *attention.weights]))


def _configuration(one: Configuration) -> dict[str, Any]:
    first = one.runs[0]
    return {
        "label": one.label,
        "seeds": list(one.seeds),
        "command": command([run.summary for run in one.runs], list(one.seeds)),
        "choices": first.choices,
        "settings": [[path, setting_text(v)] for path, v in first.settings.items()],
        "code": sorted({_code(run.summary) for run in one.runs}),
        "notes": sorted({note for run in one.runs for note in run.summary.notes}),
    }


def _code(summary: Summary) -> str:
    versions = [f"{name} {number}" for name, number in summary.versions.items()]
    return ", ".join([*versions, str(summary.git)] if summary.git else versions)


def plain(values: NDArray[Any]) -> list[float | None]:
    """Return numbers to five significant digits; infinities and NaN are null."""
    return [float(f"{v:.5g}") if np.isfinite(v) else None for v in values.tolist()]
