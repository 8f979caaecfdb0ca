import math

import pytest
import torch

from attnexp.data.sine import Sine


def test_the_textbooks_sizes(generator):
    data = Sine(generator())
    assert data.train.keys.shape == (1, 50, 1)
    torch.testing.assert_close(data.test.queries.flatten(), torch.arange(50) / 10)


@pytest.mark.parametrize("step", [0, 7, 49])
def test_truth_by_hand(generator, step):
    x = step / 10
    found = Sine(generator()).test.targets[0, step, 0]
    assert found == pytest.approx(2 * math.sin(x) + x**0.8, abs=1e-6)


def test_negative_x_has_no_power(generator):
    with pytest.raises(ValueError, match=r"low must be 0 or more, because of x\^0.8, got -1"):
        Sine(generator(), low=-1.0)
