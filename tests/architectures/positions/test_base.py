"""What holds for every kind of positions."""

import pytest
import torch

from attnexp.architectures.positions import positions_named
from attnexp.architectures.positions.base import Positions


def test_hooks_that_are_not_used_change_nothing():
    positions, places = Positions(6, 1, 7), torch.arange(5)
    x = torch.ones(3, 5, 6)
    assert positions.add(x, places) is x
    assert positions.order(places, places) == (None, None)
    positions.require_reach(10**6)


def test_unknown_positions_are_refused():
    message = "must be one of sinusoidal, learned, none, rotary, alibi, nape, t5, got 'relative'"
    with pytest.raises(ValueError, match=message):
        positions_named("relative")
