"""What holds for every kind of positions."""

import pytest
import torch
from hydra.utils import instantiate

from attnexp.architectures.positions import KINDS, positions_named
from attnexp.architectures.positions.base import Positions
from attnexp.attention.multihead import MultiHead


def test_hooks_that_are_not_used_change_nothing():
    positions, places = Positions(6, 1, 7), torch.arange(5)
    x = torch.ones(3, 5, 6)
    assert positions.add(x, places) is x
    assert positions.order(places, places) == (None, None)
    positions.require_reach(10**6)


def test_unknown_positions_are_refused():
    with pytest.raises(ValueError, match=r"one of sinusoidal, .*, t5, shaw, got 'relative'"):
        positions_named("relative")


def test_every_kind_works_with_every_score(model_name, settings_of):
    build = instantiate(settings_of("model", model_name), _partial_=True)
    attention = MultiHead(build, 12, 12, 12, 12, heads=2, head_dim=6)
    x, places = torch.randn(3, 5, 12), torch.arange(5)
    for kind, positions in KINDS.items():
        order = positions(12, 2, 5).order(places, places)
        memory = attention.remember(x, x, None, order.turn)
        context, weights = attention.attend(x, memory, True, order.turn, order.bias)
        assert context.isfinite().all(), kind
        assert weights.shape == (3, 2, 5, 5), kind
