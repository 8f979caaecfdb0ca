import pytest

from attnexp.core.errors import RequestError
from attnexp.plots.base import Options
from attnexp.plots.catalogue import drawn
from attnexp.plots.rate import compare_sizes
from attnexp.select.collect import collect
from attnexp.select.configurations import comparisons


@pytest.fixture
def compared(regression_run, tmp_path):
    """The comparisons of runs, each given as (size, seed, width, test error, left-out error)."""

    def compare(*runs, **settings):
        for i, (size, seed, width, error, left_out) in enumerate(runs):
            own = {"data.num_train": size, "model.width": width} | (settings if i == 0 else {})
            metrics = {"test_mse": error, "loo_mse": left_out}
            regression_run(f"outputs/{i}", seed=seed, settings=own, metrics=metrics)
        return comparisons(collect([str(tmp_path / "outputs")]).runs)

    return compare


def test_the_width_that_is_best_by_leaving_out_counts_at_each_size(compared):
    runs = [(100, 0, 1.0, 0.4, 0.9), (100, 0, 2.0, 0.5, 0.8), (100, 1, 1.0, 0.3, 0.5)]
    runs += [(10, seed, 1.0, 1.0, 1.0) for seed in (0, 1)]
    runs += [(1000, seed, 1.0, 0.1, 0.4) for seed in (0, 1)]
    ((name, figure),) = compare_sizes(compared(*runs), Options())
    (axes,) = figure.axes
    line, rate = axes.lines
    assert name == "consistency"
    assert line.get_xdata().tolist() == [10, 100, 1000]
    assert line.get_ydata().tolist() == pytest.approx([1.0, 0.4, 0.1])
    assert rate.get_ydata().tolist() == pytest.approx([1.0, 10**-0.75, 10**-1.5])
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    ticks = [label.get_text() for label in axes.get_yticklabels()]
    assert {"0.1", "0.2", "0.5", "1"} <= set(ticks)


SIZES = [(size, 0, 1.0, 1.0 / size, 1.0) for size in (10, 100, 1000)]


@pytest.mark.parametrize(("runs", "settings"), [(SIZES[:2], {}), (SIZES, {"data.noise": 9.0})])
def test_few_sizes_or_other_data_are_not_drawn(compared, runs, settings, tmp_path):
    several = compared(*runs, **settings)
    assert list(compare_sizes(several, Options())) == []
    with pytest.raises(RequestError, match="there is no consistency to draw: a rate takes runs"):
        list(drawn(several, tmp_path, kinds=["consistency"]))
