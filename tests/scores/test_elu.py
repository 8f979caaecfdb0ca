import math

import torch

from attnexp.scores.elu import positive_features


def test_features_are_exact_where_the_sum_would_round_to_zero():
    features = positive_features(torch.tensor([-80.0, -20.0, 0.0, 3.0]))
    expected = torch.tensor([math.exp(-80), math.exp(-20), 1.0, 4.0])
    torch.testing.assert_close(features, expected, rtol=1e-6, atol=0)


def test_the_slope_at_zero_is_one():
    zero = torch.zeros(3, requires_grad=True)
    positive_features(zero).sum().backward()
    assert zero.grad.tolist() == [1, 1, 1]
