import math

import pytest
import torch

from attnexp.data.sine_v1 import SineV1


def test_the_textbooks_sizes(generator):
    data = SineV1(generator())
    assert data.train.keys.shape == (1, 40, 1)
    torch.testing.assert_close(data.test.queries.flatten(), torch.arange(50) / 10)


@pytest.mark.parametrize("step", [0, 7, 49])
def test_truth_by_hand(generator, step):
    x = step / 10
    found = SineV1(generator()).test.targets[0, step, 0]
    assert found == pytest.approx(2 * math.sin(x) + x, abs=1e-6)
