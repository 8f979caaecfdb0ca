import math

import pytest
import torch

from attnexp.scores.epanechnikov import Epanechnikov


def test_equals_the_formula(vectors, pairwise):
    queries, keys = vectors()

    def one(query, key):
        height = 1 - 0.7 * math.dist(query.tolist(), key.tolist()) / math.sqrt(7)
        return math.log(height) if height > 0 else -math.inf

    oracle = pairwise(one, queries, keys)
    assert oracle.isinf().any()
    torch.testing.assert_close(Epanechnikov(7, 7, width=0.7)(queries, keys), oracle)


def test_weights_by_hand():
    """On the line, q = 0 and k = 0, 1/2, 2: heights 1, 1/2, 0."""
    scores = Epanechnikov(1, 1)(torch.zeros(1, 1), torch.tensor([[0.0], [0.5], [2.0]]))
    torch.testing.assert_close(scores.softmax(dim=-1), torch.tensor([[2 / 3, 1 / 3, 0.0]]))


def test_refuses_a_width_that_is_not_positive():
    with pytest.raises(ValueError, match="width must be greater than 0, got 0"):
        Epanechnikov(1, 1, width=0)
