import math

import numpy as np
import pytest
import torch

from attnexp.attention.pooling import AttentionPooling
from attnexp.normalizers.sparsemax import Sparsemax
from attnexp.scores.gaussian import Gaussian


def test_by_hand():
    """Two keys: the weights are 1/2 plus and minus half the difference, cut off at 0 and 1."""
    for difference in (0.0, 0.5, 1.0, 3.0):
        upper = min(1.0, 0.5 + difference / 2)
        weights = Sparsemax(heads=1)(torch.tensor([[0.0, difference]]))
        assert weights[0].tolist() == pytest.approx([1 - upper, upper])


def threshold(scores):
    """tau by bisection: the sum of max(0, a - tau) falls as tau rises."""
    low, high = scores.max() - 1, scores.max()
    for _ in range(200):
        tau = (low + high) / 2
        low, high = (tau, high) if np.maximum(scores - tau, 0).sum() > 1 else (low, tau)
    return low


@pytest.mark.parametrize("width", [0.3, 1.0, 4.0])
def test_with_the_gaussian_score_it_is_regression_with_the_parabola_kernel(width):
    """f(x) = sum_i K((x_i - x) / h) y_i / sum_i K(...), K(u) = max(0, 1 - u^2).

    The width is that of the query: h = sqrt(-2 tau) / w, where the score -(w d)^2 / 2 is tau.
    """
    generator = np.random.default_rng(0)
    points, values = generator.uniform(0, 5, 40), generator.normal(size=40)
    for query in generator.uniform(-1, 6, 25):
        gaps = points - query
        tau = threshold(-((width * gaps) ** 2) / 2)
        h = math.sqrt(-2 * tau) / width
        kernel = np.maximum(0, 1 - (gaps / h) ** 2)
        expected = (kernel * values).sum() / kernel.sum()
        pooling = AttentionPooling(Gaussian(1, 1, width=width), 1, Sparsemax)
        context, _ = pooling(*(torch.tensor(x)[None, :, None] for x in ([query], points, values)))
        assert context.item() == pytest.approx(expected, abs=1e-6)
