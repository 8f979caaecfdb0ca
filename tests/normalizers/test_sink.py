import math

import pytest
import torch

from attnexp.normalizers.sink import Sink


def test_the_sink_of_a_head_is_one_more_key_of_that_head():
    sink = Sink(heads=2)
    with torch.no_grad():
        sink.s.copy_(torch.tensor([math.log(2.0), -1.0])[:, None, None])
    weights = sink(torch.zeros(1, 2, 1, 3))
    assert weights[0, :, 0, 0].tolist() == pytest.approx([1 / 5, 1 / (3 + math.exp(-1))])


def test_sinks_learn():
    sink = Sink(heads=3)
    sink(torch.zeros(2, 3, 4, 5)).sum().backward()
    assert sink.s.grad.shape == (3, 1, 1)
    assert (sink.s.grad < 0).all()
    assert Sink(heads=1).s.shape == ()
