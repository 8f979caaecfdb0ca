import pytest
import torch

from attnexp.normalizers.relu import Relu


def test_by_hand():
    weights = Relu(heads=1)(torch.tensor([[3.0, -1.0, 6.0, 5.0]]), torch.tensor([3]))
    assert weights[0].tolist() == pytest.approx([1, 0, 2, 0])


def test_a_row_of_scores_at_most_zero_is_zero_with_gradient_zero():
    scores = torch.tensor([[-1.0, 0.0, -3.0]], requires_grad=True)
    weights = Relu(heads=1)(scores)
    weights.sum().backward()
    assert (weights == 0).all()
    assert (scores.grad == 0).all()
