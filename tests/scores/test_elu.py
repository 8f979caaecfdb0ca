import math

import torch
import torch.nn.functional as F

from attnexp.scores.elu import Elu, positive_features


def test_equals_the_formula(vectors, pairwise):
    queries, keys = vectors()

    def phi(x):
        return x + 1 if x > 0 else math.exp(x)

    def one(query, key):
        pairs = zip(query.tolist(), key.tolist(), strict=True)
        return math.log(sum(phi(a) * phi(b) for a, b in pairs))

    torch.testing.assert_close(Elu(7, 7)(queries, keys), pairwise(one, queries, keys))


def test_weights_are_those_of_linear_attention(vectors):
    """phi(q)' (sum_j phi(k_j) v_j') / phi(q)' sum_j phi(k_j), without a score for every pair."""
    queries, keys = vectors(4)
    values = torch.randn(4, 5, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    asked, told = F.elu(queries) + 1, F.elu(keys) + 1
    state, total = told.mT @ values, told.sum(dim=-2, keepdim=True).mT
    weights = Elu(7, 7)(queries, keys).softmax(dim=-1)
    torch.testing.assert_close(weights @ values, asked @ state / (asked @ total))


def test_features_are_exact_where_the_sum_would_round_to_zero():
    features = positive_features(torch.tensor([-80.0, -20.0, 0.0, 3.0]))
    expected = torch.tensor([math.exp(-80), math.exp(-20), 1.0, 4.0])
    torch.testing.assert_close(features, expected, rtol=1e-6, atol=0)


def test_the_slope_at_zero_is_one():
    zero = torch.zeros(3, requires_grad=True)
    positive_features(zero).sum().backward()
    assert zero.grad.tolist() == [1, 1, 1]
