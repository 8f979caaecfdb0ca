"""Positions."""

import math

import pytest
import torch

from attnexp.architectures.positions import Learned, Sinusoidal, positions_named


def test_sinusoidal_is_the_formula():
    table = Sinusoidal(6, 1)(0, 5)
    for i in range(5):
        for k in range(3):
            angle = i / 10000 ** (2 * k / 6)
            assert table[i, 2 * k].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[i, 2 * k + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


@pytest.mark.parametrize("kind", [Sinusoidal, Learned])
def test_a_later_start_is_the_rest_of_the_table(kind):
    positions = kind(6, 7)
    torch.testing.assert_close(positions(3, 7), positions(0, 7)[3:])


def test_learned_positions_have_an_end():
    positions = Learned(6, 7)
    assert positions(0, 7).shape == (7, 6)
    with pytest.raises(ValueError, match="sequences of at most 7 symbols, got one of 8"):
        positions(7, 8)


def test_a_sine_and_a_cosine_make_a_pair():
    with pytest.raises(ValueError, match="sinusoidal positions need an even dim, got 7"):
        Sinusoidal(7, 5)


def test_unknown_positions_are_refused():
    with pytest.raises(ValueError, match="must be one of sinusoidal, learned, got 'rotary'"):
        positions_named("rotary")
