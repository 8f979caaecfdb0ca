import math

import pytest
import torch

from attnexp.architectures.positions.sinusoidal import Sinusoidal


def test_the_vectors_are_the_formula():
    table = Sinusoidal(6, 2, 1).add(torch.zeros(1, 5, 6), torch.arange(5))[0]
    for i in range(5):
        for k in range(3):
            angle = i / 10000 ** (2 * k / 6)
            assert table[i, 2 * k].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[i, 2 * k + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)
