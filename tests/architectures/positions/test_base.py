"""What holds for every kind of positions."""

import pytest
import torch

from attnexp.architectures.positions import KINDS, positions_named
from attnexp.architectures.positions.base import Positions


@pytest.fixture(params=KINDS)
def name(request):
    return request.param


def test_hooks_that_are_not_used_change_nothing():
    positions, places = Positions(6, 1, 7), torch.arange(5)
    x = torch.ones(3, 5, 6)
    assert positions.add(x, places) is x
    assert positions.order(places, places) == (None, None)
    positions.require_reach(10**6)


def test_places_of_each_example_are_those_of_all_where_they_are_the_same(name):
    torch.manual_seed(0)
    positions, places = positions_named(name)(8, 2, 7), torch.arange(7)
    each = places.expand(3, 7)
    x, heads = torch.randn(3, 7, 8), torch.randn(3, 2, 7, 4)
    torch.testing.assert_close(positions.add(x, each), positions.add(x, places))
    shared, own = positions.order(places, places), positions.order(each, each)
    if shared.turn:
        torch.testing.assert_close(own.turn(heads), shared.turn(heads))
    if shared.bias is not None:
        torch.testing.assert_close(own.bias, shared.bias.expand_as(own.bias))


def test_later_places_are_the_rest_of_all_places(name):
    torch.manual_seed(0)
    positions, places = positions_named(name)(8, 2, 7), torch.arange(7)
    x, heads = torch.randn(3, 7, 8), torch.randn(3, 2, 7, 4)
    later = places[3:]
    torch.testing.assert_close(positions.add(x[:, 3:], later), positions.add(x, places)[:, 3:])
    whole, rest = positions.order(places, places), positions.order(later, places)
    if whole.turn:
        torch.testing.assert_close(rest.turn(heads[:, :, 3:]), whole.turn(heads)[:, :, 3:])
    if whole.bias is not None:
        torch.testing.assert_close(rest.bias, whole.bias[:, 3:])


def test_unknown_positions_are_refused():
    message = "must be one of sinusoidal, learned, none, rotary, alibi, got 'relative'"
    with pytest.raises(ValueError, match=message):
        positions_named("relative")
