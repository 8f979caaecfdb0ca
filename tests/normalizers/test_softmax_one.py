import math

import pytest
import torch

from attnexp.normalizers.softmax_one import SoftmaxOne


def test_by_hand():
    weights = SoftmaxOne(heads=1)(torch.tensor([[0.3, -2.0, 1.1]]), torch.tensor([2]))
    total = 1 + math.exp(0.3) + math.exp(-2.0)
    assert weights[0].tolist() == pytest.approx([math.exp(0.3) / total, math.exp(-2.0) / total, 0])


def test_scores_far_below_zero_look_nowhere():
    assert SoftmaxOne(heads=1)(torch.tensor([[-200.0, -300.0]])).sum() == 0
