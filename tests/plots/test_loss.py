import pytest

from attnexp.plots.base import Options
from attnexp.plots.loss import compare_losses, draw_losses
from attnexp.runs.collection import collect
from attnexp.runs.configurations import comparisons
from attnexp.runs.run import load_run


@pytest.mark.parametrize("losses", [(2.0,), (2.0, 1.0), (3.0, 2.0, 1.0)])
def test_epochs_are_whole_numbers(regression_run, losses):
    run = load_run(regression_run(losses=losses))
    ((_, figure),) = draw_losses(run, Options())
    (axes,) = figure.axes
    low, high = axes.get_xlim()
    ticks = [tick for tick in axes.get_xticks() if low <= tick <= high]
    assert ticks == list(range(1, len(losses) + 1))


def test_a_single_epoch_can_be_seen(regression_run):
    ((_, figure),) = draw_losses(load_run(regression_run(losses=(2.0,))), Options())
    (line,) = figure.axes[0].lines
    assert line.get_marker() == "o"


@pytest.mark.parametrize(
    ("models", "names"),
    [
        (("gaussian", "gaussian"), ["model.width=1", "model.width=2"]),
        (("gaussian", "boxcar"), ["boxcar", "gaussian"]),
    ],
)
def test_lines_are_named_by_what_differs(regression_run, tmp_path, models, names):
    for width, model in enumerate(models, 1):
        settings = {"model.width": float(width)}
        regression_run(f"r{width}", settings=settings, choices={"model": model})
    (comparison,) = comparisons(collect([tmp_path]).runs)
    ((_, figure),) = compare_losses(comparison, Options())
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == names
