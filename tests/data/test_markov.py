"""Markov chains: their law, and new ones in each pass."""

import pytest
import torch

from attnexp.data.markov import MarkovChains, draw_chains
from attnexp.data.sequences import BOS, EOS, FIRST


def build(seed=0, **settings):
    small = {"num_train": 40, "num_validation": 10, "num_test": 10, "length": 12}
    return MarkovChains(torch.Generator().manual_seed(seed), **small | settings)


def test_the_input_is_the_chain_behind_its_beginning():
    data = build(states=3)
    for batch in (data.train, data.validation, data.test):
        assert (batch.keys == EOS).all()
        assert (batch.queries[:, 0] == BOS).all()
        assert torch.equal(batch.queries[:, 1:], batch.targets[:, :-1])
        assert set(batch.targets.unique().tolist()) == {FIRST, FIRST + 1, FIRST + 2}
    assert data.spec.target_vocab[3:] == ("0", "1", "2")


def test_the_share_that_stays_is_uniform_over_chains():
    """P[0, 0] is uniform over [0, 1], so that its estimates have the mean 1/2 and variance 1/12.

    Estimates from counts add their own variance, P (1 - P) over the number of visits.
    """
    chains = draw_chains(4_000, 600, 2, torch.Generator().manual_seed(0))
    at_zero = chains[:, :-1] == 0
    visits = at_zero.sum(dim=1).double()
    stays = (at_zero & (chains[:, 1:] == 0)).sum(dim=1).double()
    seen = visits > 50
    shares = (stays / visits)[seen]
    assert float(shares.mean()) == pytest.approx(0.5, abs=0.03)
    assert float(shares.var()) == pytest.approx(1 / 12, abs=0.01)


def test_chains_begin_as_they_go_on():
    """The first symbol is from the stationary distribution: each place has the same shares."""
    chains = draw_chains(40_000, 30, 3, torch.Generator().manual_seed(1))
    for place in (0, 1, 29):
        shares = torch.bincount(chains[:, place]) / 40_000
        assert shares == pytest.approx([1 / 3] * 3, abs=0.012)
    same = (chains[:, 0] == chains[:, 1]).double().mean()
    later = (chains[:, 28] == chains[:, 29]).double().mean()
    assert float(same) == pytest.approx(float(later), abs=0.015)


def test_each_pass_has_new_chains():
    data, order = build(), torch.Generator().manual_seed(5)
    before = order.get_state()
    first, second = data.epoch(order), data.epoch(order)
    assert first.targets.shape == data.train.targets.shape
    assert not torch.equal(first.targets, second.targets)
    assert not torch.equal(first.targets, data.train.targets)
    order.set_state(before)
    assert torch.equal(data.epoch(order).targets, first.targets)


def chains_of(batch):
    return set(map(tuple, batch.targets.tolist()))


def test_no_two_sets_share_a_chain():
    """Of two states and eight symbols most chains repeat: sets drawn alike share some."""
    data = build(num_train=60, num_validation=30, num_test=30, length=8)
    train, validation, test = map(chains_of, (data.train, data.validation, data.test))
    assert not train & validation
    assert not (train | validation) & test
    order = torch.Generator().manual_seed(7)
    passes = [chains_of(data.epoch(order)) for _ in range(5)]
    assert not any(each & (validation | test) for each in passes)
    assert passes[0] & passes[1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"length": 2, "num_train": 400}, "length 2 over 2 states are too few for sets that share"),
        ({"states": 1}, "states must be at least 2, got 1"),
        ({"length": 0}, "length must be at least 1, got 0"),
        ({"num_train": 0}, "num_train must be at least 1, got 0"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        build(**settings)
