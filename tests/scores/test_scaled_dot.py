import math

import pytest
import torch
import torch.nn.functional as F

from attnexp.normalizers.softmax import Softmax
from attnexp.scores.scaled_dot import ScaledDot


def test_equals_the_formula(vectors, pairwise):
    queries, keys = vectors()
    oracle = pairwise(
        lambda q, k: sum(a * b for a, b in zip(q, k, strict=True)) / math.sqrt(7), queries, keys
    )
    torch.testing.assert_close(ScaledDot(7, 7)(queries, keys), oracle)


def test_weights_by_hand():
    """q = [0, sqrt 2] with keys [1, 0] and [0, 1]: scores 0 and 1, weights [1, e] / (1 + e)."""
    weights = ScaledDot(2, 2)(torch.tensor([[0.0, math.sqrt(2)]]), torch.eye(2)).softmax(dim=-1)
    torch.testing.assert_close(weights, torch.tensor([[1.0, math.e]]) / (1 + math.e))


def test_attention_equals_pytorch(vectors):
    queries, keys = vectors(2)
    values = keys[..., :2]
    mask = torch.tensor([True, True, False, True, False])
    ours = Softmax(heads=1)(ScaledDot(7, 7)(queries, keys), mask) @ values
    theirs = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask.expand(2, 3, 5))
    torch.testing.assert_close(ours, theirs)


def test_variance_does_not_grow_with_the_dimension():
    generator = torch.Generator().manual_seed(0)
    queries, keys = torch.randn(2, 500, 64, generator=generator)
    assert ScaledDot(64, 64)(queries, keys).var() == pytest.approx(1, rel=0.05)
