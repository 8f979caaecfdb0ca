"""The content of a report as plain values, which its page draws."""

import base64
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from attnexp.core import console
from attnexp.core.console import setting_text
from attnexp.core.errors import RequestError
from attnexp.core.language import Phrase, joined, numbered, said, stored
from attnexp.plots.charts import (
    CurveChart,
    SeedCurve,
    all_values,
    chart_of_columns,
    chart_of_fit,
)
from attnexp.plots.colours import DIVERGING, VIRIDIS, hexadecimal
from attnexp.plots.lines import (
    asked_columns,
    intact,
    renamed,
    runs_of,
)
from attnexp.report.page import (
    AttentionPanel,
    ByteMap,
    Chart,
    DataSection,
    KeptAttention,
    Live,
    MapSide,
    Model,
    Moment,
    Page,
    Rerun,
    Series,
    ShownRun,
)
from attnexp.report.results import every_run, place_of, result_of
from attnexp.runs.attention import (
    MapAxis,
    StoredAttention,
    has_signs,
    is_uneven,
    kind_text,
    same_examples,
    scale_end,
)
from attnexp.runs.folder import Run
from attnexp.runs.origin.command_line import command
from attnexp.runs.run_status import Status
from attnexp.runs.summary import Summary, error_text
from attnexp.select.configurations import (
    Comparison,
    Configuration,
    comparisons,
    labels,
)
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


Models = Callable[[Comparison], Sequence[Model]]
"""Returns the model of each configuration of a comparison, or the reason why there is none."""

COLOURS = [hexadecimal(colour) for colour in VIRIDIS]
"""The colours of maps, from weight 0 to the largest."""

AROUND_ZERO = [hexadecimal(colour) for colour in DIVERGING]
"""The colours of maps with negative weights, 0 in the middle."""


def report_content(
    title: Phrase,
    runs: Sequence[Run],
    renaming: Renaming = KEPT,
    models: Models | None = None,
    progress: Phrase = "",
    language: str | None = None,
) -> Page:
    """Return the page of runs.

    If a part of the page cannot be made, or a run cannot be drawn, the page goes without it: the
    reason is one of the `further` remarks, and a warning. The tables have such a run all the same.

    `models` returns the models that the page computes of a comparison. `language` is the one in
    which the page begins, with a switch to the other; a page without `language` is in English.
    `progress` says how far unfinished runs are; the page then has their curves so far, too.
    """
    sound, left_out = intact(runs)
    compared = [renamed(one, renaming) for one in comparisons(sound)]
    frame = sort_runs(make_frame(runs, renaming), None)
    request = TableRequest(costs=True)
    tables = divide(frame, request)
    report = tables_report(tables, request)
    further: list[Phrase] = [*report.further]
    further += [f"left out of pictures: {reason}" for reason in left_out]
    grids = zip(tables, report.grids[::2], report.grids[1::2], strict=True)
    data = [
        _data(one, place_of(one, tables), models(one) if models else (), further, renaming)
        for one in compared
    ]
    return Page(
        title,
        COLOURS,
        AROUND_ZERO,
        report.verdicts,
        results=[result_of(*each) for each in grids],
        data=data,
        every=[*every_run(frame)],
        notes=report.notes,
        further=further,
        language=language,
        live=Live(progress, [*_running(runs, renaming)]) if progress else None,
    )


def _running(runs: Sequence[Run], renaming: Renaming) -> Iterable[Chart]:
    """Yield charts of the epochs so far of the runs that are still running, by data set."""
    going = [run for run in runs if run.status is Status.RUNNING and run.epochs]
    for data in dict.fromkeys(run.data for run in going):
        own = [run for run in going if run.data == data]
        names = labels(make_frame(own, renaming))
        each = [Configuration(name, (run,)) for name, run in zip(names, own, strict=True)]
        for chart in _training(Comparison(data, tuple(each)), renaming):
            lines = [_of_seed(line, own[line.place or 0]) for line in chart.lines]
            yield replace(chart, lines=lines, title=said("{what}: {text}", what=data, text=chart.y))


def _of_seed(line: Series, run: Run) -> Series:
    return replace(line, label=joined(said(", "), [line.label, numbered(said("seed"), run.seed)]))


def _data(
    comparison: Comparison,
    result: int,
    models: Sequence[Model],
    further: list[Phrase],
    renaming: Renaming,
) -> DataSection:
    made = partial(_made, comparison.data, further)
    losses = made("losses", lambda: [*_training(comparison, renaming)])
    fit = made("fit", lambda: chart_of_fit(comparison))
    return DataSection(
        renaming(comparison.data),
        result,
        [*(losses or ()), *([_chart(fit)] if fit else ())],
        made("attention", lambda: _attention(comparison)),
        [_configuration(one) for one in comparison.configurations],
        models,
    )


def _made(data: str, further: list[Phrase], what: str, make: Callable[[], Part]) -> Part | None:
    """Return a part of a page. If making the part raises an error, return None and remark why."""
    try:
        return make()
    except Exception as error:  # runs that are fit to be drawn alone may not fit each other
        warning = f"no {what} of {data}: {error_text(error)}"
        further.append(warning)
        console.warn_aside(warning)
        return None


def _training(comparison: Comparison, renaming: Renaming) -> Iterable[Chart]:
    """Yield a chart for every loss, and for the primary metric if it was validated.

    Each configuration has a line, with a band if it has several seeds. A column without a finite
    number has no chart.
    """
    runs = runs_of(comparison)
    primary = {f"val_{run.summary.primary}" for run in runs}
    there = dict.fromkeys(name for run in runs for name in run.epochs if name in primary)
    for column in [*asked_columns(runs, None), *there]:
        chart = chart_of_columns(comparison, [column], renaming)
        if np.isfinite(all_values(chart.curves)).any():
            yield _chart(chart)


def _chart(chart: CurveChart) -> Chart:
    """Return a chart as a page draws it: with the mean and the ends of each curve."""
    lines, points = [*map(_line, chart.curves)], [*map(plain, chart.points)]
    return Chart(chart.title, chart.x, chart.y, chart.log, lines, points, chart.log_x)


def _line(one: SeedCurve) -> Series:
    """Return a curve at no more than POINTS points, with a band if it is of several seeds."""
    few = np.unique(np.linspace(0, len(one.x) - 1, min(len(one.x), POINTS)).astype(int))
    ends = (one.values.min(axis=0), one.values.max(axis=0)) if len(one.values) > 1 else ()
    along, mean, *band = (plain(each[few]) for each in (one.x, mean_row(one.values), *ends))
    seeds = 0 if one.place is None else len(one.values)
    return Series(one.label, one.place, along, mean, seeds, *band)


def _attention(comparison: Comparison) -> AttentionPanel | None:
    """Return the maps of the typical seed, on the same examples.

    None if the configurations have no seed in common, if a run stored no attention, or if the
    examples are not the same.
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
    axes: list[MapSide] = []
    configurations = [
        ShownRun(one.label, _attentions(run, axes)) for one, run in zip(few, shown, strict=True)
    ]
    names = dict.fromkeys(name for one in attentions for name in _main_first(one))
    ends, signed = {}, []
    for name in names:
        own = [one.weights[name][:EXAMPLES] for one in attentions if name in one.weights]
        every = np.concatenate([weights.ravel() for weights in own]).astype(np.float64)
        ends[name] = scale_end(every, max(weights.shape[-1] for weights in own))[0]
        signed += [name] if has_signs(every) else []
    return AttentionPanel(
        seed,
        len(comparison.configurations) - len(shown),
        list(names),
        [*map(kind_text, names)],
        {name: float(f"{end:.4g}") for name, end in ends.items()},
        [name for name, end in ends.items() if name not in signed and _is_rooted(name, end, shown)],
        signed,
        axes,
        configurations,
    )


def _attentions(run: Run, axes: list[MapSide]) -> dict[str, KeptAttention]:
    """Return the attentions of a run by name. The main one has its growth too, if that was kept."""
    attention = run.attention
    found = {}
    for name in _main_first(attention):
        layers, heads = attention.weights[name].shape[1:3]
        frames = [_frame(one, name, epoch, axes) for epoch, one in _growth(run, name)]
        found[name] = KeptAttention(layers, heads, frames)
    return found


def _growth(run: Run, name: str) -> list[tuple[int | None, StoredAttention]]:
    """Return the attention after some epochs, if it was kept, and the final one as epoch None."""
    kept = sorted(run.snapshots) if name == run.attention.main else []
    few = np.unique(np.linspace(0, len(kept) - 1, EPOCHS if kept else 0).round().astype(int))
    return [*((kept[i], run.snapshots[kept[i]]) for i in few), (None, run.attention)]


def _is_rooted(name: str, end: float, runs: Sequence[Run]) -> bool:
    """Return whether the colours of maps show the square roots of weights.

    They do for maps of numbers if some map, of a head or of the mean of all heads, would be dark.
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


def _frame(attention: StoredAttention, name: str, epoch: int | None, axes: list[MapSide]) -> Moment:
    """Return the maps of one epoch, with weights as bytes: see `Moment`."""
    weights = attention.weights[name][:EXAMPLES]
    there = weights[np.isfinite(weights)]
    least = float(there.min(initial=0))
    largest = float(there.max(initial=0)) or (0.0 if least else 1.0)
    layers, heads = weights.shape[1:3]
    maps = []
    for example in range(len(weights)):
        all_heads = [
            attention.map(name, example, layer, head)
            for layer in range(layers)
            for head in range(heads)
        ]
        found = np.nan_to_num(np.stack([one.weights for one in all_heads]), nan=0.0)
        cells = ((found - least) / (largest - least)).clip(0, 1) * 255
        first = all_heads[0]
        shown = base64.b64encode(cells.round().astype(np.uint8).tobytes()).decode()
        gold = None if first.gold is None else first.gold.tolist()
        maps.append(ByteMap(_axis(first.rows, axes), _axis(first.columns, axes), gold, shown))
    return Moment(epoch, float(f"{least:.4g}"), float(f"{largest:.4g}"), maps)


def _axis(side: MapAxis, axes: list[MapSide]) -> int:
    """Return the index of a side in the list of all sides. A new side is added to the list."""
    numbers = None if side.numbers is None else plain(side.numbers)
    content = MapSide(side.name, side.symbols, numbers)
    if content not in axes:
        axes.append(content)
    return axes.index(content)


def _main_first(attention: StoredAttention) -> list[str]:
    return list(dict.fromkeys([attention.main, *attention.weights]))


def _configuration(one: Configuration) -> Rerun:
    summaries, first = [run.summary for run in one.runs], one.runs[0]
    return Rerun(
        one.label,
        one.seeds,
        command(summaries, list(one.seeds)),
        first.choices,
        [(path, setting_text(value)) for path, value in first.settings.items()],
        sorted(set(map(_code, summaries))),
        list(map(stored, sorted({note for summary in summaries for note in summary.notes}))),
    )


def _code(summary: Summary) -> str:
    versions = [f"{name} {number}" for name, number in summary.versions.items()]
    return ", ".join([*versions, str(summary.git)] if summary.git else versions)


def plain(values: NDArray[Any]) -> list[float | None]:
    """Return numbers with five significant digits, and None for infinities and NaN."""
    return [float(f"{v:.5g}") if np.isfinite(v) else None for v in values.tolist()]
