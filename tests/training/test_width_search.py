"""The search finds a width about as good as the best of a fine grid, by errors of NumPy alone."""

import math

import numpy as np
import pytest
from curves_to_smooth import CURVES, LARGE, best_of_grid, by_line, by_mean, error_of, spread_of

from attnexp.training.width_search import WIDTHS, golden_section, row_of_widths, valleys


@pytest.mark.check
@pytest.mark.parametrize(("fit", "within"), [(by_mean, 1.02), (by_line, 1.03)])
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if n in LARGE else n for n in CURVES],
)
def test_the_best_valley_is_about_the_best_of_a_fine_grid(name, fit, within):
    x, y = CURVES[name]()
    error, spread = error_of(x, y, fit, most=200), spread_of(x)
    row = row_of_widths(*spread)
    found = valleys(error, row, [error(width) for width in row])[0]
    assert found.error == error(found.width)
    assert found.error <= within * best_of_grid(error, *spread)


def test_golden_section_closes_in_on_a_minimum():
    tried = golden_section(lambda width: math.log(width / 3) ** 2, 2, 5)
    assert min(tried, key=lambda each: each[1])[0] == pytest.approx(3, rel=1e-3)
    assert all(2 < width < 5 for width, _ in tried)


def test_a_row_is_geometric_between_its_ends():
    row = row_of_widths(deviation=2, gap=0.5)
    assert len(row) == WIDTHS
    assert [row[0], row[-1]] == pytest.approx([0.05, 16])
    assert np.diff(np.log(row)) == pytest.approx(np.log(320) / 95)


def test_errors_that_do_not_count_make_no_valley():
    row = [1.0, 2.0, 3.0, 4.0]
    (found,) = valleys(lambda width: math.inf, row, [math.inf, math.inf, 5.0, math.inf])
    assert (found.width, found.error, found.place) == (3.0, 5.0, 2)
    assert valleys(lambda width: math.inf, row, [math.inf] * 4) == []


def test_the_spacing_is_the_smaller_step_of_the_row_at_a_valley():
    row = [1.0, 2.0, 4.0, 8.0]
    (found,) = valleys(lambda width: 9.0, row, [3.0, 1.0, 2.0, 3.0])
    assert found.spacing == 1.0
