import math

import pytest
import torch

from attnexp.scores.parabola import Parabola


def test_equals_the_formula(vectors, pairwise):
    queries, keys = vectors()

    def one(query, key):
        height = 1 - 0.7**2 * math.dist(query.tolist(), key.tolist()) ** 2 / 7
        return math.log(height) if height > 0 else -math.inf

    oracle = pairwise(one, queries, keys)
    assert oracle.isinf().any()
    torch.testing.assert_close(Parabola(7, 7, width=0.7)(queries, keys), oracle)


def test_weights_by_hand():
    """On the line, q = 0 and k = 1/5, 2/5, 1: 1 - k^2 is 24/25, 21/25, 0."""
    scores = Parabola(1, 1)(torch.zeros(1, 1), torch.tensor([[0.2], [0.4], [1.0]]))
    heights = torch.tensor([[8.0**1, 7.0**1, 0.0]])
    torch.testing.assert_close(scores.softmax(dim=-1), heights / heights.sum())


def test_refuses_a_width_that_is_not_positive():
    with pytest.raises(ValueError, match="width must be greater than 0, got 0"):
        Parabola(1, 1, width=0)
