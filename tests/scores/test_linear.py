import math

import torch

from attnexp.normalizers.softmax import Softmax
from attnexp.scores.linear import Linear


def test_equals_the_formula(vectors, pairwise):
    queries, keys = vectors()

    def one(query, key):
        product = sum(a * b for a, b in zip(query.tolist(), key.tolist(), strict=True))
        return math.log(product) if product > 0 else -math.inf

    oracle = pairwise(one, queries, keys)
    assert oracle.isinf().any()
    torch.testing.assert_close(Linear(7, 7)(queries, keys), oracle)


def test_weights_by_hand():
    """Products 3, 1 and -1: weights 3/4, 1/4 and 0."""
    scores = Linear(1, 1)(torch.ones(1, 1), torch.tensor([[3.0], [1.0], [-1.0]]))
    torch.testing.assert_close(scores.softmax(dim=-1), torch.tensor([[0.75, 0.25, 0.0]]))


def test_a_product_of_zero_or_near_it_has_a_finite_gradient():
    """Also below the smallest normal number, of which the reciprocal is infinite."""
    queries = torch.tensor([[0.0], [1e-40], [1.2e-38], [1.0]], requires_grad=True)
    weights = Softmax(heads=1)(Linear(1, 1)(queries, torch.tensor([[1.0], [2.0]])))
    assert weights[0].tolist() == [0, 0]
    weights.square().sum().backward()
    assert queries.grad.isfinite().all()
