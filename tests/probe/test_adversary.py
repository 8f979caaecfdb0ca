"""Adversarial weights, and the distance between maps."""

import math

import pytest
import torch
from composed import prepared
from torch.testing import assert_close

from attnexp.probe import adversary
from attnexp.probe.adversary import adversarial, between_seeds, divergence, learned_maps
from attnexp.probe.passes import main_part


def test_divergence_by_hand():
    one, other = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])
    even = torch.tensor([0.5, 0.5])
    assert_close(divergence(one, other), torch.tensor(math.log(2)))
    assert divergence(even, even) == 0
    expected = 0.75 * math.log(4 / 3) + 0.25 * math.log(4) - math.log(2) / 2
    assert_close(divergence(one, even), torch.tensor(expected))
    assert divergence(3 * one, one) == 0
    assert divergence(torch.zeros(2), torch.zeros(2)) == 0


@pytest.fixture
def fast(monkeypatch):
    monkeypatch.setattr(adversary, "STEPS", 100)
    monkeypatch.setattr(adversary, "STARTS", 1)
    monkeypatch.setattr(adversary, "RATE", 0.1)


def test_equal_values_leave_the_weights_free(fast):
    """Whatever the weights, the answer is the same: the largest distance is found for all."""
    run = prepared("model=gaussian", "data.num_train=20")
    run.dataset.test.values.fill_(1.0)
    numbers = adversarial(run).numbers
    assert numbers["succeeded"] == 1
    assert numbers["distance"] > 0.5


def test_what_decides_the_answer_cannot_be_moved(fast):
    """With two far values an answer within 0.01 deviations takes nearly the learned weights."""
    run = prepared("model=gaussian", "data.num_train=2", "data.noise=0.0")
    run.dataset.test.values.copy_(torch.tensor([[[0.0], [100.0]]]))
    assert adversarial(run).numbers["distance"] < 0.01


def test_the_model_can_be_trained_afterwards(fast):
    run = prepared("model=additive", "data.num_train=20")
    adversarial(run)
    assert all(parameter.requires_grad for parameter in run.model.parameters())


def test_seeds_are_as_far_apart_as_their_maps():
    run, other = (
        prepared("data=reverse", "model=additive", "arch.hidden_dim=8", "data.num_test=8", seed)
        for seed in ("seed=0", "seed=1")
    )
    batch, part = run.dataset.test, main_part(run.model)
    own, its = (learned_maps(one.model, batch, part)[0] for one in (run, other))
    expected = divergence(its.mean, own.mean)[own.counts]
    found = between_seeds(run, [other.model]).numbers["distance"]
    assert 0 < found < math.log(2)
    assert found == pytest.approx(float(expected.mean()), rel=0.2)  # the mean is over examples
    assert between_seeds(run, [run.model]).numbers["distance"] == pytest.approx(0, abs=1e-6)
