"""The picture of a claim's curves."""

from collections.abc import Sequence
from pathlib import Path

from attnexp.claims.evidence import Point
from attnexp.plots.charts import CurveChart, SeedCurve, all_values, all_x, common
from attnexp.plots.lines import WIDE, spans_powers
from attnexp.plots.picture_style import Style
from attnexp.plots.style import (
    draw_chart,
    labelled,
    line_axes,
    range_of,
    save,
    style_context,
)
from attnexp.runs.folder import Run


def draw_curves(
    points: Sequence[Point],
    title: str,
    labels: tuple[str, str],
    path: Path,
    style: Style,
    runs: Sequence[Run] = (),
) -> None:
    """Draw the mean of each curve over seeds, with a band or bars from smallest to largest.

    A curve is drawn at the places that all its seeds have, and left out if there is only one. Axes
    are logarithmic if their numbers are positive and span a wide range. The picture is written to
    `path`, with the runs in its metadata.
    """
    rows: dict[str, dict[int, dict[float, float]]] = {}
    for point in points:
        rows.setdefault(point.curve, {}).setdefault(point.seed, {})[point.x] = point.y
    seeds = len({point.seed for point in points})
    found = [(curve, *common([*by_seed.values()])) for curve, by_seed in rows.items()]
    several = [(curve, x, values) for curve, x, values in found if len(x) > 1]
    curves = [SeedCurve(each[0], place, *each[1:]) for place, each in enumerate(several)]
    log_x, log = (spans_powers(each, WIDE) for each in (all_x(curves), all_values(curves)))
    chart = CurveChart(title, *labels, curves, log, log_x)
    with style_context(style.settings):
        subtitle = f"mean of {seeds} seeds, {range_of(len(curves)).en}: smallest to largest"
        figure, axes = line_axes(title, subtitle)
        draw_chart(axes, chart, labelled(curves))
        style.finish(figure)
        save(figure, [path], runs)
