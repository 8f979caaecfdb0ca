import math

import pytest
import torch

from attnexp.attention.statistics import entropy, is_uniform, shares, sink_mass, support


def test_entropy_by_hand():
    rows = torch.tensor([[0.25, 0.25, 0.25, 0.25], [1, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 0, 0, 0]])
    assert entropy(rows).tolist() == pytest.approx([math.log(4), 0, math.log(2), 0])


def test_rows_that_sum_to_one_up_to_rounding_keep_every_bit():
    rows = torch.randn(1000, 11, generator=torch.Generator().manual_seed(0)).softmax(dim=-1)
    assert (rows.sum(dim=-1) != 1).any()
    assert torch.equal(shares(rows), rows)
    assert (sink_mass(rows) == 0).all()
    near = torch.tensor([[0.5, 0.499995], [0.5, 0.49998]])
    assert sink_mass(near).tolist() == pytest.approx([0, 2e-5], abs=1e-6)
    assert sink_mass(near)[0] == 0


def test_support_and_sink_mass_by_hand():
    rows = torch.tensor([[0.5, 0.25, 0.0], [1.0, 0.5, 0.5], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert support(rows).tolist() == [2, 3, 0, 1]
    assert sink_mass(rows).tolist() == [0.25, -1, 1, 0]


def test_uniform_counts_the_valid_keys_only():
    mask = torch.tensor([[True, True, False], [True, True, True]])
    weights = torch.tensor([[0.5, 0.5, 0.0], [1 / 3, 1 / 3, 1 / 3]])
    assert is_uniform(weights, mask)
    assert is_uniform(weights * 1.04, mask)
    assert not is_uniform(weights * torch.tensor([1.06, 1, 1]), mask)
