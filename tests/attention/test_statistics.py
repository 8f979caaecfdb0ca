import math

import pytest
import torch

from attnexp.attention.statistics import entropy, is_uniform


def test_entropy_by_hand():
    rows = torch.tensor([[0.25, 0.25, 0.25, 0.25], [1, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0, 0]])
    assert entropy(rows).tolist() == pytest.approx([math.log(4), 0, math.log(2), 0])


def test_uniform_counts_the_valid_keys_only():
    mask = torch.tensor([[True, True, False], [True, True, True]])
    weights = torch.tensor([[0.5, 0.5, 0.0], [1 / 3, 1 / 3, 1 / 3]])
    assert is_uniform(weights, mask)
    assert is_uniform(weights * 1.04, mask)
    assert not is_uniform(weights * torch.tensor([1.06, 1, 1]), mask)
