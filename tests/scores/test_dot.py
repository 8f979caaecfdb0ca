import math

import pytest
import torch

from attnexp.scores.dot import Dot


def test_equals_the_formula(vectors, pairwise):
    queries, keys = vectors()
    oracle = pairwise(lambda q, k: sum(a * b for a, b in zip(q, k, strict=True)), queries, keys)
    torch.testing.assert_close(Dot(7, 7)(queries, keys), oracle)


def test_weights_by_hand():
    """q = [0, sqrt 2], keys [1, 0] and [0, 1 / sqrt 2]: scores 0, 1, weights [1, e] / (1 + e)."""
    queries = torch.tensor([[0.0, math.sqrt(2)]])
    keys = torch.tensor([[1.0, 0.0], [0.0, 1 / math.sqrt(2)]])
    weights = Dot(2, 2)(queries, keys).softmax(dim=-1)
    torch.testing.assert_close(weights, torch.tensor([[1.0, math.e]]) / (1 + math.e))


def test_variance_grows_with_the_dimension():
    """Vaswani 2017, 3.2.1: unit-variance vectors of dimension d have scores of variance d."""
    generator = torch.Generator().manual_seed(0)
    queries, keys = torch.randn(2, 500, 64, generator=generator)
    assert Dot(64, 64)(queries, keys).var() == pytest.approx(64, rel=0.05)


def test_unequal_dimensions_name_the_way_out():
    with pytest.raises(ValueError, match=r"dot needs .* got 2 and 3; additive and bilinear"):
        Dot(2, 3)
