import pytest
import torch

from attnexp.architectures.positions.learned import Learned


def test_each_place_has_its_row():
    positions = Learned(6, 2, 7)
    x = torch.randn(2, 3, 6)
    places = torch.tensor([[0, 1, 2], [4, 0, 6]])
    added = positions.add(x, places)
    for example in range(2):
        for i in range(3):
            row = positions.table.weight[places[example, i]]
            assert torch.equal(added[example, i], x[example, i] + row)


def test_they_have_an_end():
    positions = Learned(6, 2, 7)
    positions.require_reach(7)
    with pytest.raises(ValueError, match="sequences of at most 7 symbols, got one of 8"):
        positions.require_reach(8)
    with pytest.raises(ValueError, match="longest must be greater than 0, got 0"):
        Learned(6, 2, 0)
