import math

import torch

from attnexp.normalizers.softmax import Softmax
from attnexp.scores.squared_dot import SquaredDot


def test_equals_the_formula(vectors, pairwise):
    queries, keys = vectors()

    def one(query, key):
        product = sum(a * b for a, b in zip(query.tolist(), key.tolist(), strict=True))
        return math.log(product**2)

    torch.testing.assert_close(SquaredDot(7, 7)(queries, keys), pairwise(one, queries, keys))


def test_opposite_keys_have_the_same_weight(vectors):
    queries, keys = vectors()
    score = SquaredDot(7, 7)
    torch.testing.assert_close(score(queries, -keys), score(queries, keys))


def test_the_zero_vector_has_no_weights_and_gradient_zero():
    queries = torch.zeros(1, 2, requires_grad=True)
    weights = Softmax(heads=1)(SquaredDot(2, 2)(queries, torch.ones(3, 2)))
    assert weights.tolist() == [[0, 0, 0]]
    weights.sum().backward()
    assert queries.grad.tolist() == [[0, 0]]
