import numpy as np
import pytest
from matplotlib.text import Text

from attnexp.core.language import say, speaking, translate
from attnexp.plots.base import Options
from attnexp.plots.lines import wants_log
from attnexp.plots.loss import draw_losses
from attnexp.plots.picture_style import Style
from attnexp.runs import files
from attnexp.runs.folder import load_run
from attnexp.select.collect import collect
from attnexp.select.configurations import Comparison, comparisons
from attnexp.select.renaming import Renaming

WIDE = np.array([0.01, 0.5, 1.0])


@pytest.mark.parametrize(
    ("columns", "values", "log"),
    [
        (["loss", "val_loss"], WIDE, True),
        (["lr"], WIDE, True),
        (["loss"], WIDE[1:], False),
        (["val_loss"], WIDE - 0.01, False),
        (["loss", "val_alignment_accuracy"], WIDE, False),
    ],
)
def test_losses_over_powers_of_ten_have_a_logarithmic_axis_and_shares_never(columns, values, log):
    assert wants_log(columns, values) is log


@pytest.mark.parametrize("losses", [(2.0,), (2.0, 1.0), (3.0, 2.0, 1.0)])
def test_epochs_are_whole_numbers(regression_run, losses):
    run = load_run(regression_run(losses=losses))
    ((_, figure),) = draw_losses(Comparison.of(run), Options())
    (axes,) = figure.axes
    low, high = axes.get_xlim()
    ticks = [tick for tick in axes.get_xticks() if low <= tick <= high]
    assert ticks == list(range(1, len(losses) + 1))
    assert axes.lines[0].get_marker() == ("o" if len(losses) == 1 else "")


def test_a_line_is_the_mean_over_seeds_and_its_band_reaches_to_the_ends(regression_run, tmp_path):
    for seed, losses in enumerate([(4.0, 3.0), (3.0, 1.0), (3.5, 2.6)]):
        regression_run(f"s{seed}", seed=seed, losses=losses)
    (comparison,) = comparisons(collect([tmp_path]).runs)
    ((_, figure),) = draw_losses(comparison, Options())
    (axes,) = figure.axes
    assert axes.lines[0].get_ydata().tolist() == pytest.approx([3.5, 2.2])
    (band,) = axes.collections
    corners = {tuple(corner) for corner in band.get_paths()[0].vertices.tolist()}
    assert corners == {(1, 3), (1, 4), (2, 1), (2, 3)}
    assert "Training loss of gaussian on sine" in {text.get_text() for text in figure.texts}


@pytest.mark.parametrize(
    ("models", "names"),
    [
        (("gaussian", "gaussian"), ["width=1", "width=2"]),
        (("gaussian", "boxcar"), ["boxcar", "gaussian"]),
    ],
)
def test_lines_are_named_by_what_differs(regression_run, tmp_path, models, names):
    for width, model in enumerate(models, 1):
        settings = {"model.width": float(width)}
        regression_run(f"r{width}", settings=settings, choices={"model": model})
    (comparison,) = comparisons(collect([tmp_path]).runs)
    ((_, figure),) = draw_losses(comparison, Options())
    Style().finish(figure)
    assert [text.get_text() for text in figure.axes[0].texts] == names


def test_a_second_start_is_marked_after_its_epoch(regression_run, width_check):
    run = load_run(regression_run(width_check=width_check))
    ((_, figure),) = draw_losses(Comparison.of(run), Options())
    (mark,) = (line for line in figure.axes[0].lines if line.get_label() == "second start")
    assert np.asarray(mark.get_xdata()).tolist() == [2.5, 2.5]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_loss_has_its_other_name_in_the_whole_picture(regression_run, tmp_path, language):
    for seed in (0, 1):
        folder = regression_run(f"s{seed}", seed=seed, losses=())
        rows = "epoch,step,loss,val_loss\n1,1,2.0,3.0\n2,2,1.0,2.0\n"
        (folder / files.METRICS).write_text(rows)
    (comparison,) = comparisons(collect([tmp_path]).runs)
    style = Style(names=Renaming(metrics={"loss": "Verlust"}))
    with speaking(language):
        ((_, figure),) = draw_losses(comparison, Options(style=style))
        style.finish(figure)
        validation = say("validation {metric}", metric="Verlust")
        title = translate(comparison.titled("Verlust"))
    (axes,) = figure.axes
    assert axes.get_ylabel() == "Verlust"
    texts = {text.get_text() for text in figure.findobj(Text)}
    assert {"Verlust", validation, title} <= texts
    assert not any(word in text.lower() for text in texts for word in ("loss", "损失"))
