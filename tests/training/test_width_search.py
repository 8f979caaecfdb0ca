"""The search finds a width about as good as the best of a fine grid, by errors of NumPy alone."""

import math

import numpy as np
import pytest
from curves_to_smooth import CURVES, LARGE

from attnexp.training.width_search import WIDTHS, golden_section, row_of_widths, valleys


def gaussian(squares, width):
    return np.exp(-(width**2) * (squares - squares.min(axis=1, keepdims=True)) / 2)


def by_mean(x, asked, y, weights):
    return weights @ y / weights.sum(axis=1)


def by_line(x, asked, y, weights):
    """The line of least squares through all but each point; flat without two inputs apart."""
    shares = weights / weights.sum(axis=1, keepdims=True)
    away = x[None] - x[asked, None]
    mean, level = np.einsum("ij,ijk->ik", shares, away), shares @ y
    apart = away - mean[:, None]
    moved = shares[..., None] * apart
    ridge = np.einsum("ij,ijk->i", shares, away**2) * (1e-10 if x.shape[1] == 1 else 0.01)
    spread = moved.transpose(0, 2, 1) @ apart + ridge[:, None, None] * np.eye(x.shape[1])
    covariance = moved.transpose(0, 2, 1) @ (y[None] - level[:, None])[..., None]
    return level - (np.linalg.solve(spread, covariance)[..., 0] * mean).sum(axis=1)


def error_of(x, y, fit):
    """The leave-one-out error at a width, of 200 of the points if there are many."""
    asked = np.arange(len(x))[:: -(-len(x) // 200)]
    squares = ((x[asked, None] - x[None]) ** 2).mean(axis=2)
    squares[np.arange(len(asked)), asked] = np.inf
    return lambda width: float(
        np.mean((fit(x, asked, y, gaussian(squares, width)) - y[asked]) ** 2)
    )


def spread_of(x):
    unique = np.unique(x, axis=0)
    if x.shape[1] == 1:
        gap = np.diff(unique[:, 0])
    else:
        apart = np.sqrt(((unique[:, None] - unique[None]) ** 2).mean(axis=2))
        gap = (apart + np.diag(np.full(len(unique), np.inf))).min(axis=1)
    return math.sqrt(x.var(axis=0).mean()), float(np.median(gap))


def best_of_grid(error, deviation, gap):
    """The lowest of 250 widths, and of 60 more between the neighbours of the best."""
    grid = np.geomspace(0.03 / deviation, 30 / gap, 250)
    best = int(np.argmin([error(width) for width in grid]))
    fine = np.geomspace(grid[max(best - 1, 0)], grid[min(best + 1, 249)], 60)
    return min(error(width) for width in fine)


@pytest.mark.parametrize(("fit", "within"), [(by_mean, 1.02), (by_line, 1.03)])
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.slow) if n in LARGE else n for n in CURVES],
)
def test_the_best_valley_is_about_the_best_of_a_fine_grid(name, fit, within):
    x, y = CURVES[name]()
    error, spread = error_of(x, y, fit), spread_of(x)
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
