"""The picture of training."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from attnexp.core.errors import RequestError, choices_text
from attnexp.core.language import say, translate
from attnexp.plots.base import Figures, Options
from attnexp.plots.charts import chart_of_columns
from attnexp.plots.lines import asked_columns, runs_of
from attnexp.plots.style import INK, LINES, chart_axes, draw_chart
from attnexp.runs.files import file_word
from attnexp.runs.folder import Run
from attnexp.select.configurations import Comparison


def draw_losses(comparison: Comparison, options: Options) -> Figures:
    """Yield columns of metrics.csv over the epochs: a colour per configuration, dashes by column.

    The columns are the losses, or the one that is asked for. A metric that is not a column is
    ignored here: another picture shows it. A line is the mean over the seeds, with a band or bars
    from the smallest to the largest, at the epochs that all seeds have. A configuration that was
    not trained has no line. A dotted line marks a second start.

    Raises RequestError if no configuration has the columns in all its runs.
    """
    runs = runs_of(comparison)
    metric = options.metric if any(options.metric in run.epochs for run in runs) else None
    columns = asked_columns(runs, metric)
    if not columns:
        return
    chart = chart_of_columns(comparison, columns, options.style.names)
    if not chart.curves:
        raise RequestError(f"no configuration has {choices_text(columns)} in all its runs")
    figure, axes, lines = chart_axes(comparison, chart)
    axes.margins(x=0.02)
    axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
    draw_chart(axes, chart, lines)
    shown = [comparison.configurations[place] for place in chart.places]
    _mark_second_starts(axes, [run for one in shown for run in one.runs])
    for i, part in enumerate(chart.parts) if len(columns) > 1 else ():
        axes.plot([], [], LINES[i % len(LINES)], color=INK, label=translate(part))
    yield file_word(metric or "loss"), figure


def _mark_second_starts(axes: Axes, runs: Sequence[Run]) -> None:
    """Mark the epochs after which runs started a second time, from another width."""
    checks = [run.summary.width_check for run in runs]
    epochs = sorted({check.epoch for check in checks if check is not None and check.epoch})
    for i, epoch in enumerate(epochs):
        label = "" if i else say("second start")
        axes.axvline(epoch + 0.5, color=INK, linewidth=0.8, linestyle=":", label=label)
