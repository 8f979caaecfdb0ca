import math

import pytest
import torch

from attnexp.normalizers.softmax import Softmax
from attnexp.normalizers.topk import TopK


def test_by_hand():
    weights = TopK(heads=1, k=2)(torch.tensor([[1.0, 0.0, 3.0, 2.0]]), torch.tensor([3]))
    total = math.exp(1) + math.exp(3)
    expected = [math.exp(1) / total, 0, math.exp(3) / total, 0]
    assert weights[0].tolist() == pytest.approx(expected)


def test_keys_that_tie_with_the_last_one_stay():
    weights = TopK(heads=1, k=2)(torch.tensor([[1.0, 3.0, 1.0, 0.0, 1.0]]))
    assert (weights > 0).tolist() == [[True, True, True, False, True]]


@pytest.mark.parametrize("k", [3, 4, 100])
def test_no_more_keys_than_k_have_the_softmax(k):
    scores = torch.tensor([[0.5, -1.0, 2.0]])
    torch.testing.assert_close(TopK(heads=1, k=k)(scores), Softmax(heads=1)(scores))


@pytest.mark.parametrize("k", [0, -3])
def test_k_must_be_at_least_one(k):
    with pytest.raises(ValueError, match=f"k of normalizer=topk must be at least 1, got {k}"):
        TopK(heads=1, k=k)
