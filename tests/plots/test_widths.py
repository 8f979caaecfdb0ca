import msgspec
import numpy as np
import pytest

from attnexp.plots.base import Options
from attnexp.plots.widths import draw_widths
from attnexp.runs.folder import load_run
from attnexp.select.collect import collect
from attnexp.select.configurations import Comparison, comparisons


def test_the_row_is_drawn_with_the_learned_width_in_it(regression_run, width_check):
    run = load_run(regression_run(width_check=width_check))
    ((name, figure),) = draw_widths(Comparison.of(run), Options())
    row, learned, trained, _ = figure.axes[0].lines
    assert name == "widths"
    assert row.get_xydata().tolist() == [[0.1, 3.0], [1.0, 0.5], [10.0, 2.0]]  # one has no error
    assert learned.get_xydata().tolist() == [[1.1, 0.4]]
    assert trained.get_xydata().tolist() == [[0.2, 2.5]]


def test_seeds_have_a_line_each_and_others_none(regression_run, width_check, tmp_path):
    for seed in (0, 1):
        regression_run(f"s{seed}", seed=seed, width_check=width_check)
    regression_run("other", choices={"model": "boxcar"})
    (comparison,) = comparisons(collect([tmp_path]).runs)
    ((_, figure),) = draw_widths(comparison, Options())
    assert sum(np.size(line.get_xdata()) == 3 for line in figure.axes[0].lines) == 2


def test_without_a_check_there_is_no_picture(regression_run):
    assert [*draw_widths(Comparison.of(load_run(regression_run())), Options())] == []


@pytest.mark.parametrize("learned", [(0.0, 0.5), (1.0, None)])
def test_a_width_without_a_place_on_the_axes_is_left_out(learned, regression_run, width_check):
    check = msgspec.structs.replace(width_check, learned=learned)
    ((_, figure),) = draw_widths(
        Comparison.of(load_run(regression_run(width_check=check))), Options()
    )
    figure.draw_without_rendering()
