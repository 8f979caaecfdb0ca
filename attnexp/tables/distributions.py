"""Student's distribution and the logarithm of the gamma function.

They agree with those of `scipy.special`, whose import takes as long as reading thousands of runs.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)
"""The coefficients of 1/x, 1/x^3, ... in Stirling's series. Abramowitz and Stegun 1964, 6.1.41."""

SHIFT = 8
"""Stirling's series is used beyond it: the first term that is left out is 2e-13."""


def student_tail(t: float, df: int) -> float:
    """Return P(T >= |t|) under Student's distribution with `df` degrees of freedom.

    It is I_x(df/2, 1/2) / 2 with x = df / (df + t^2), the regularised incomplete beta function.
    Abramowitz and Stegun 1964, 26.7.1.
    """
    if math.isinf(t):
        return 0.0
    x, y = df / (df + t * t), t * t / (df + t * t)
    if y == 0:
        return 0.5
    a, b = df / 2, 0.5
    scale = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(y)
    )
    if x < (a + 1) / (a + b + 2):
        return scale * _fraction(x, a, b) / a / 2
    return (1 - scale * _fraction(y, b, a) / b) / 2


@lru_cache(maxsize=1000)
def student_quantile(p: float, df: int) -> float:
    """Return the t with P(T <= t) = p under Student's distribution, for p above 1/2.

    The tail falls and is convex, so that Newton's method comes to t from below.
    """
    scale = math.exp(math.lgamma((df + 1) / 2) - math.lgamma(df / 2)) / math.sqrt(df * math.pi)
    t, step = 0.0, math.inf
    while step > 1e-15 * t:
        density = scale * (1 + t * t / df) ** (-(df + 1) / 2)
        step = (student_tail(t, df) - (1 - p)) / density
        t += step
    return t


def log_gamma(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logarithm of the gamma function of positive numbers up to 1e38.

    log G(x) = log G(x + 8) - log(x (x + 1) ... (x + 7)), the first by Stirling's series. With
    a = x (x + 7) the product is a (a + 6) (a + 10) (a + 12).
    """
    a = x * (x + (SHIFT - 1))
    product = a * (a + 6)
    product *= a + 10
    product *= a + 12
    far = x + SHIFT
    inverse = 1 / far
    square = inverse * inverse
    series = square * STIRLING[-1]
    for coefficient in STIRLING[-2:0:-1]:
        series += coefficient
        series *= square
    series += STIRLING[0]
    series *= inverse
    series += (far - 0.5) * np.log(far)
    series -= far
    series -= np.log(product)
    series += 0.5 * math.log(2 * math.pi)
    return series


def _fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the incomplete beta function, by Lentz's method.

    Abramowitz and Stegun 1964, 26.5.8; Press et al. 2007, 6.4.
    """
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction, m, change = d, 0, 0.0
    while abs(change - 1) > 1e-15:
        m += 1
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            c, d = 1 + term / c, 1 / (1 + term * d)
            change = c * d
            fraction *= change
    return fraction
