"""Charts as data."""

import pytest

from attnexp.plots.charts import chart_of_columns, common
from attnexp.runs import files
from attnexp.select.collect import collect
from attnexp.select.configurations import comparisons


@pytest.fixture
def curve(tmp_path):
    """The epochs and the values of a column of the only configuration."""

    def curve(column):
        (comparison,) = comparisons(collect([tmp_path]).runs)
        (one,) = chart_of_columns(comparison, [column]).curves
        return one.x.tolist(), one.values.tolist()

    return curve


def test_epochs_without_a_value_in_one_run_are_left_out(regression_run, curve):
    """As in runs that were imported, whose metrics were measured at other steps."""
    for seed, accuracies in enumerate([(0.5, None, 0.75), (0.25, 0.5, 0.625)]):
        file = files.MetricsFile(regression_run(f"run{seed}", seed=seed))
        for epoch, accuracy in enumerate(accuracies):
            file.append({"epoch": epoch, "accuracy": "" if accuracy is None else accuracy})
        file.close()
    assert curve("accuracy") == ([0, 2], [[0.5, 0.75], [0.25, 0.625]])


def test_curves_are_taken_where_all_seeds_have_them(regression_run, curve):
    regression_run("a", seed=0, losses=(3.0, 2.0, 1.0))
    regression_run("b", seed=1, losses=(5.0, 4.0))
    assert curve("loss") == ([1, 2], [[3, 2], [5, 4]])


def test_rows_have_the_keys_of_all_in_ascending_order():
    x, values = common([{3: 1.0, 1: 2.0, 2: 3.0}, {1: 4.0, 3: 5.0}])
    assert (x.tolist(), values.tolist()) == ([1, 3], [[2, 1], [4, 5]])
