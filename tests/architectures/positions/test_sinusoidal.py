import math

import pytest
import torch

from attnexp.architectures.positions.sinusoidal import GeometricRates, Sinusoidal


def test_the_vectors_are_the_formula():
    table = Sinusoidal(6, 2, 1).add(torch.zeros(1, 5, 6), torch.arange(5))[0]
    for i in range(5):
        for k in range(3):
            angle = i / 10000 ** (2 * k / 6)
            assert table[i, 2 * k].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[i, 2 * k + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_a_model_in_float64_has_its_rates_in_float64():
    place = 9000
    positions = Sinusoidal(6, 2, 1).double()
    row = positions.add(torch.zeros(1, 1, 6, dtype=torch.float64), torch.tensor([place]))[0, 0]
    for k in range(3):
        angle = place / 10000 ** (2 * k / 6)
        assert row[2 * k].item() == pytest.approx(math.sin(angle), abs=1e-11)
        assert row[2 * k + 1].item() == pytest.approx(math.cos(angle), abs=1e-11)


def test_the_rates_have_the_bits_of_float32_in_a_model_of_float32():
    rates = GeometricRates(6)()
    assert torch.equal(rates, torch.exp(torch.arange(0, 6, 2) * (-math.log(10000.0) / 6)))
