"""Student's distribution and the log gamma function against SciPy."""

import math

import numpy as np
import pytest
from scipy import special

from attnexp.tables.distributions import log_gamma, student_quantile, student_tail


@pytest.mark.parametrize("df", [1, 2, 3, 4, 9, 30, 100, 999])
@pytest.mark.parametrize("t", [1e-3, 0.3, 1.0, 2.5, 12.0, 80.0])
def test_the_tail_is_that_of_scipy(df: int, t: float):
    assert student_tail(t, df) == pytest.approx(special.stdtr(df, -t), rel=1e-10)
    assert student_tail(-t, df) == student_tail(t, df)


def test_the_ends_of_the_tail():
    assert student_tail(0.0, 4) == 0.5
    assert student_tail(math.inf, 4) == 0


@pytest.mark.parametrize("df", [1, 2, 3, 4, 9, 30, 100, 999])
def test_the_quantile_is_that_of_scipy(df: int):
    assert student_quantile(0.975, df) == pytest.approx(special.stdtrit(df, 0.975), rel=1e-12)


def test_log_gamma_is_that_of_scipy_from_the_smallest_to_the_largest_numbers():
    numbers = np.logspace(-8, 8, 4001).reshape(1, -1)
    expected = special.gammaln(numbers)
    assert (np.abs(log_gamma(numbers) - expected) <= 1e-12 * np.maximum(1, np.abs(expected))).all()
