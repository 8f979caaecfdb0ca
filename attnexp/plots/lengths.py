"""The picture of exact match against the length of the source."""

from matplotlib.ticker import MaxNLocator, NullLocator

from attnexp.core.language import capitalized, said, say
from attnexp.plots.base import Figures, Options
from attnexp.plots.charts import CurveChart, SeedCurve, all_x, common
from attnexp.plots.lines import WIDE, spans_powers
from attnexp.plots.style import INK, chart_axes, draw_chart
from attnexp.runs.folder import Run
from attnexp.select.configurations import Comparison

SHARES, TRAINED = "exact_match_by_length", "lengths_in_training"
"""The details of a summary that the picture is drawn from."""


MARKER = "p"
"""The marker of lines without one in other pictures: lengths are few and far apart."""


def draw_lengths(comparison: Comparison, options: Options) -> Figures:
    """Yield exact match against the length of the source, with a line for each configuration.

    There is no picture if no length is beyond those of training. A line is the mean over the seeds,
    with a band or bars from the smallest to the largest, at the lengths that all seeds have. The
    lengths of training are shaded. Lengths over a wide range have a logarithmic axis. A
    configuration has no line if its runs have not measured several lengths.
    """
    chart = chart_of_lengths(comparison)
    runs = [run for place in chart.places for run in comparison.configurations[place].runs]
    if not any(map(_is_beyond, runs)):
        return
    figure, axes, lines = chart_axes(comparison, chart)
    axes.set_ylim(-0.03, 1.03)
    axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
    trained = [_numbers(run, TRAINED) for run in runs]
    ends = min(of["shortest"] for of in trained) - 0.5, max(of["longest"] for of in trained) + 0.5
    axes.axvspan(*ends, color=INK, alpha=0.08, linewidth=0, label=say("in training"))
    marked = [(name, {**line, "marker": line.get("marker") or MARKER}) for name, line in lines]
    draw_chart(axes, chart, marked)
    if chart.log_x:
        lengths = all_x(chart.curves)
        axes.set_xticks(lengths, [f"{length:,.0f}" for length in lengths])
        axes.xaxis.set_minor_locator(NullLocator())
    yield "lengths", figure


def chart_of_lengths(comparison: Comparison) -> CurveChart:
    """Return the chart of exact match. Runs of a configuration must share two lengths or more."""
    curves = [
        SeedCurve(one.label, place, *common([_shares(run) for run in one.runs]))
        for place, one in enumerate(comparison.configurations)
        if all(TRAINED in run.summary.details for run in one.runs)
    ]
    curves = [one for one in curves if len(one.x) > 1]
    name, log_x = said("exact match"), spans_powers(all_x(curves), WIDE)
    return CurveChart(capitalized(name), said("length of the source"), name, curves, log_x=log_x)


def _is_beyond(run: Run) -> bool:
    trained, lengths = _numbers(run, TRAINED), _shares(run)
    return max(lengths) > trained["longest"] or min(lengths) < trained["shortest"]


def _shares(run: Run) -> dict[float, float]:
    return {int(length): share for length, share in _numbers(run, SHARES).items()}


def _numbers(run: Run, detail: str) -> dict[str, float]:
    numbers = run.summary.details.get(detail, {}).items()
    return {name: value for name, value in numbers if value is not None}
