"""A picture and a page show the same numbers."""

from functools import partial

import pytest

from attnexp.core.language import translate
from attnexp.plots.base import Options
from attnexp.plots.fit import draw_fit
from attnexp.plots.loss import draw_losses
from attnexp.plots.metric import draw_metric
from attnexp.report.content import report_content
from attnexp.runs import files
from attnexp.select.collect import collect
from attnexp.select.configurations import comparisons

near = partial(pytest.approx, rel=1e-4, abs=1e-4)
"""Numbers of a page have five digits."""


@pytest.fixture
def shown(tmp_path):
    """The comparison of the runs, and what a page has of it."""

    def shown():
        runs = collect([tmp_path]).runs
        (comparison,) = comparisons(runs)
        return comparison, report_content("", runs)

    return shown


def names_at_ends(axes):
    return [line.get_label() for line in axes.lines if not line.get_label().startswith("_")]


def corners(band):
    """The lowest and the highest of a band at each x."""
    (path,) = band.get_paths()
    ends = {}
    for x, y in path.vertices:
        ends.setdefault(x, []).append(y)
    return [[end(ends[x]) for x in sorted(ends)] for end in (min, max)]


def same(axes, chart):
    """Compare lines, bands, axes and points of a picture with those of a chart of a page."""
    assert names_at_ends(axes) == [translate(line.label) for line in chart.lines]
    for drawn, line in zip(axes.lines, chart.lines, strict=True):
        assert drawn.get_xdata().tolist() == near(line.x)
        assert drawn.get_ydata().tolist() == near(line.mean)
    dots = [each for each in axes.collections if len(each.get_offsets()) > 1]
    bands = [each for each in axes.collections if each not in dots]
    banded = [line for line in chart.lines if line.low is not None]
    for band, line in zip(bands, banded, strict=True):
        low, high = corners(band)
        assert low == near(line.low)
        assert high == near(line.high)
    found = [point.tolist() for each in dots for point in each.get_offsets()]
    assert found == [near(point) for point in chart.points]
    assert (axes.get_xlabel(), axes.get_ylabel()) == (translate(chart.x), translate(chart.y))
    assert (axes.get_yscale() == "log") == chart.log


@pytest.mark.parametrize("last", [0.5, 0.01])
def test_losses_are_the_same(regression_run, shown, last):
    for model, factor in (("boxcar", 1.0), ("gaussian", 2.0)):
        for seed in range(3):
            losses = (factor, factor / (seed + 2), last)[: 3 - seed % 2]
            regression_run(f"{model}{seed}", seed=seed, losses=losses, choices={"model": model})
    comparison, page = shown()
    ((_, figure),) = draw_losses(comparison, Options(metric="loss"))
    same(figure.axes[0], page.data[0].charts[0])


@pytest.mark.parametrize("seeds", [1, 3])
def test_fits_are_the_same(regression_run, shown, seeds):
    for model in ("boxcar", "gaussian"):
        for seed in range(seeds):
            regression_run(f"{model}{seed}", seed=seed, choices={"model": model})
    comparison, page = shown()
    ((_, figure),) = draw_fit(comparison, Options())
    same(figure.axes[0], page.data[0].charts[-1])


def test_a_seed_that_predicted_at_other_points_counts_in_neither(regression_run, shown):
    for model in ("boxcar", "gaussian"):
        for seed in range(2):
            folder = regression_run(f"{model}{seed}", seed=seed, choices={"model": model})
    rows = [{"x": x, "truth": 0.0, "prediction": 9.0} for x in range(7)]
    files.write_rows(folder / files.PREDICTIONS, rows)
    comparison, page = shown()
    ((_, figure),) = draw_fit(comparison, Options())
    chart = page.data[0].charts[-1]
    same(figure.axes[0], chart)
    assert [line.seeds for line in chart.lines] == [0, 2, 1]


@pytest.mark.parametrize("unit", ["y^2", ""])
def test_metrics_are_the_same(regression_run, shown, unit):
    """Student's interval of 1, 2 and 3 begins at -0.5, which no logarithmic axis shows."""
    for model, factor in (("boxcar", 1.0), ("gaussian", 10.0)):
        for seed in range(3):
            run = {"choices": {"model": model}, "metrics": {"test_mse": factor * (seed + 1)}}
            regression_run(f"{model}{seed}", seed=seed, units={"test_mse": unit}, **run)
    comparison, page = shown()
    ((_, figure),) = draw_metric(comparison, Options())
    (axes,), dots = figure.axes, page.results[0].dots
    assert [label.get_text() for label in axes.get_yticklabels()] == [row.name for row in dots.rows]
    drawn = [line.get_xdata().tolist() for line in axes.lines]
    told = [each for row in dots.rows for each in (row.seeds, (row.low, row.high), [row.mean])]
    assert drawn == [pytest.approx([*each]) for each in told]
    assert (axes.get_xscale() == "log") == dots.log == (unit == "y^2")
