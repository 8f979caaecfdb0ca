import numpy as np
import pytest

from attnexp.plots.base import Options
from attnexp.plots.lines import spans_powers
from attnexp.plots.metric import draw_metric
from attnexp.select.collect import collect
from attnexp.select.configurations import comparisons
from attnexp.select.frame import make_frame
from attnexp.tables.entries import TableRequest
from attnexp.tables.reports import configurations_report

T3 = 4.302653
"""The 97.5% quantile of Student's t with two degrees of freedom."""

UNITS = {"units": {"test_mse": "y^2"}}


@pytest.fixture
def compared(regression_run, tmp_path):
    """Three seeds of two scores: test_mse 1, 2, 3, and ten times as much."""
    for model, factor in (("boxcar", 1.0), ("gaussian", 10.0)):
        for seed in range(3):
            metrics = {"test_mse": factor * (seed + 1), "test_bias": factor * (seed + 1)}
            choices = {"model": model}
            regression_run(f"{model}{seed}", seed=seed, metrics=metrics, choices=choices, **UNITS)
    (comparison,) = comparisons(collect([tmp_path]).runs)
    return comparison


def test_a_row_has_its_seeds_their_mean_and_its_interval(compared):
    ((name, figure),) = draw_metric(compared, Options(metric="test_bias"))
    (axes,) = figure.axes
    seeds, interval, mean = axes.lines[:3]
    assert name == "metric"
    assert [label.get_text() for label in axes.get_yticklabels()] == ["boxcar", "gaussian"]
    assert seeds.get_xdata().tolist() == [1, 2, 3]
    assert mean.get_xdata().tolist() == [2]
    reach = T3 / np.sqrt(3)
    assert interval.get_xdata().tolist() == pytest.approx([2 - reach, 2 + reach], rel=1e-6)
    assert axes.get_xlabel() == "test_bias"


@pytest.mark.parametrize(
    ("better", "order"), [("lower", ["c", "a", "b"]), ("higher", ["b", "a", "c"])]
)
def test_rows_are_in_the_order_of_the_table(regression_run, tmp_path, better, order):
    for model, value in (("a", 2.0), ("b", 3.0), ("c", 1.0)):
        for seed in range(2):
            run = {"choices": {"model": model}, "metrics": {"test_mse": value + seed / 10}}
            regression_run(f"{model}{seed}", seed=seed, better={"test_mse": better}, **run)
    collected = collect([tmp_path]).runs
    (comparison,) = comparisons(collected)
    ((_, figure),) = draw_metric(comparison, Options(metric="test_mse"))
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    report = configurations_report(make_frame(collected), TableRequest(metrics=("test_mse",)))
    assert names == order == [row[0].text for row in report.grids[0].rows]


def test_the_primary_metric_is_drawn_by_default_on_a_logarithmic_axis(compared):
    for options in (Options(), Options(metric="loss")):
        ((_, figure),) = draw_metric(compared, options)
        (axes,) = figure.axes
        assert axes.get_xlabel() == compared.configurations[0].runs[0].summary.primary
        assert axes.get_xscale() == "log"


def test_a_single_row_is_not_drawn(regression_run, tmp_path):
    for seed in range(2):
        regression_run(f"r{seed}", seed=seed)
    (comparison,) = comparisons(collect([tmp_path]).runs)
    assert list(draw_metric(comparison, Options())) == []


def test_an_interval_that_reaches_0_has_an_axis_that_shows_it(compared):
    """Student's interval of 1, 2 and 3 begins at -0.5."""
    ((_, figure),) = draw_metric(compared, Options(metric="test_bias"))
    assert figure.axes[0].get_xscale() == "linear"


@pytest.mark.parametrize(
    ("values", "factor", "spans"),
    [((1, 9), 10, False), ((1, 11), 10, True), ((0, 1000), 10, False), ((1, np.inf), 10, False)],
)
def test_numbers_that_reach_over_a_power_of_ten_have_a_log_axis(values, factor, spans):
    assert spans_powers(np.array(values, dtype=float), factor) == spans
