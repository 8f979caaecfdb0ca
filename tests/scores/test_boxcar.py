import math

import pytest
import torch

from attnexp.scores.boxcar import Boxcar


def test_equals_the_formula(vectors, pairwise):
    queries, keys = vectors()

    def one(query, key):
        near = math.dist(query.tolist(), key.tolist()) / math.sqrt(7) <= 1 / 0.8
        return 0.0 if near else -math.inf

    oracle = pairwise(one, queries, keys)
    assert oracle.isinf().any()
    assert (oracle == 0).any()
    torch.testing.assert_close(Boxcar(7, 7, width=0.8)(queries, keys), oracle)


def test_the_edge_belongs_to_the_box():
    scores = Boxcar(1, 1, width=0.5)(torch.zeros(1, 1), torch.tensor([[2.0], [2.001]]))
    assert scores.tolist() == [[0.0, -math.inf]]


def test_refuses_a_width_that_is_not_positive():
    with pytest.raises(ValueError, match="width must be greater than 0, got -3"):
        Boxcar(1, 1, width=-3)
