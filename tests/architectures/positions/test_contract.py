"""The contract holds for all positions of conf/positions, and fails for what it forbids."""

from functools import partial

import pytest
import torch
from hydra.utils import get_object

from attnexp.architectures.positions import Order, Positions
from attnexp.architectures.positions.contract import POSITIONS_CONTRACT
from attnexp.architectures.positions.learned import Learned


@pytest.fixture
def make(positions_name, settings_of):
    settings = settings_of("positions", positions_name)
    return partial(get_object(settings.pop("_target_")), **settings)


@pytest.mark.parametrize("check", POSITIONS_CONTRACT, ids=lambda check: check.__name__)
def test_contract(check, make):
    check(make)


class Flattens(Positions):
    def add(self, x, places):
        return x.flatten(1)


class ShiftsAll(Positions):
    """The place of the first example is that of all."""

    def add(self, x, places):
        return x + places.reshape(-1, x.shape[1])[:1, :, None]


class FromTheLast(Positions):
    """Counts places from the last query, which decoding does not know."""

    def bias(self, queries, keys):
        far = queries.amax(-1, keepdim=True).unsqueeze(-1) - keys.unsqueeze(-2)
        return (0.01 * far.square()).unsqueeze(-3).expand(-1, queries.shape[-1], -1)


class HasAnEnd(Learned):
    def require_reach(self, length):
        pass

    def add(self, x, places):
        there = (places < self.longest).unsqueeze(-1)
        return x + self.table(places.clamp(max=self.longest - 1)) / there


class Detached(Learned):
    def add(self, x, places):
        return x + self.table(places).detach() + 0 * self.table(places)


class Hidden(Learned):
    count = 0

    def __init__(self, dim, heads, longest):
        super().__init__(dim, heads, longest)
        Hidden.count += 1
        self.hidden = float(Hidden.count)

    def add(self, x, places):
        return x + self.hidden * self.table(places)


BREAKERS = {
    "keep_the_shape": Flattens,
    "place_each_example_alone": ShiftsAll,
    "place_a_symbol_as_decoding_does": FromTheLast,
    "reach_the_longest": HasAnEnd,
    "learn_by_right_gradients": Detached,
    "load_what_they_saved": Hidden,
}


@pytest.mark.parametrize("check", POSITIONS_CONTRACT, ids=lambda check: check.__name__)
def test_a_check_fails_for_what_it_forbids(check):
    with pytest.raises(AssertionError, match=r"\w+ \w+"):
        check(BREAKERS[check.__name__])


def test_hooks_that_are_not_used_change_nothing():
    positions, places = Positions(6, 1, 7), torch.arange(5)
    x = torch.ones(3, 5, 6)
    assert positions.add(x, places) is x
    assert positions.order(places, places) == Order(None, None)
    positions.require_reach(10**6)
