import math

import pytest
import torch

from attnexp.normalizers.sigmoid import Sigmoid


def logistic(a):
    return 1 / (1 + math.exp(-a))


def test_the_bias_is_minus_log_n_of_the_keys_left():
    scores = torch.tensor([[[0.5, -1.0, 2.0, 9.0], [0.5, -1.0, -math.inf, 2.0]]])
    mask = torch.tensor([True, True, True, False])
    weights = Sigmoid(heads=1)(scores, mask)
    expected = [logistic(a - math.log(3)) for a in (0.5, -1.0, 2.0)]
    assert weights[0, 0].tolist() == pytest.approx([*expected, 0])
    expected = [logistic(a - math.log(2)) for a in (0.5, -1.0)]
    assert weights[0, 1].tolist() == pytest.approx([*expected, 0, 0])


def test_a_bias_of_ones_own():
    weights = Sigmoid(heads=1, bias=1.5)(torch.tensor([[0.5, -1.0]]))
    assert weights[0].tolist() == pytest.approx([logistic(2.0), logistic(0.5)])
