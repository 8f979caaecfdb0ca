"""The steps of attention against attention pooling and against PyTorch's fused attention."""

import pytest
import torch
import torch.nn.functional as F

from attnexp.attention.pooling import AttentionPooling
from attnexp.attention.steps import take_steps
from attnexp.normalizers.softmax import Softmax
from attnexp.scores.additive import Additive


@pytest.fixture
def tensors():
    torch.manual_seed(0)
    return torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 6)


@pytest.mark.parametrize("lens", [None, [2, 5], [[1, 2, 3], [5, 4, 0]]], ids=str)
def test_they_are_those_of_attention_pooling(tensors, lens):
    queries, keys, values = tensors
    valid_lens = None if lens is None else torch.tensor(lens)
    pooling = AttentionPooling(Additive(4, 4, hidden_dim=7), value_dim=6)
    context, weights = pooling(queries, keys, values, valid_lens)
    steps = take_steps(pooling.score(queries, keys), Softmax(heads=1), values, valid_lens)
    torch.testing.assert_close(steps.weights, weights.squeeze(1).detach())
    torch.testing.assert_close(steps.context, context.detach())
    assert steps.mask.shape == steps.weights.shape
    assert not steps.weights[~steps.mask].any()


def test_without_values_there_is_no_context(tensors):
    queries, keys, _ = tensors
    steps = take_steps(queries @ keys.mT, Softmax(heads=1))
    assert steps.context is None
    assert steps.mask.all()
    torch.testing.assert_close(steps.weights, F.softmax(queries @ keys.mT, dim=-1))
