"""Adversarial weights, and the distance between maps."""

import math
from dataclasses import replace

import pytest
import torch
from composed import prepared
from torch.testing import assert_close

from attnexp.probe import adversary
from attnexp.probe.adversary import (
    CLOSE,
    FAR,
    adversarial,
    between_seeds,
    divergence,
    learned_maps,
    passes,
)
from attnexp.probe.passes import main_part
from attnexp.training.loop import Training


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
    monkeypatch.setattr(adversary, "STARTS", (replace(FAR, rate=0.1),))


MULTIHEAD = ("arch.heads=2", "arch.features=4", "arch.head_dim=4")


def test_equal_values_leave_the_weights_free():
    """Whatever the weights, the answer is the same: all weight may go to the lightest key."""
    run = prepared("model=gaussian", "data.num_train=20")
    run.dataset.test.values.fill_(1.0)
    numbers = adversarial(run).numbers
    (weights,) = learned_maps(run.model, run.dataset.test, "pooling")[0].weights
    lightest = weights.flatten(0, -2).amin(dim=-1)
    of_two = torch.stack([lightest, 1 - lightest], dim=-1)
    expected = divergence(torch.tensor([1.0, 0.0]).expand_as(of_two), of_two).mean()
    assert numbers["succeeded"] == numbers["exact"] == 1
    assert numbers["distance"] == pytest.approx(float(expected), abs=1e-5)


@pytest.mark.parametrize("words", [(), MULTIHEAD])
def test_what_decides_the_answer_cannot_be_moved(fast, words):
    """With two far values an answer within 0.01 deviations takes nearly the learned weights."""
    run = prepared("model=gaussian", "data.num_train=2", "data.noise=0.0", *words)
    run.dataset.test.values.copy_(torch.tensor([[[0.0], [100.0]]]))
    if not words:
        assert adversarial(run).numbers["distance"] < 0.01
    assert adversarial(run).numbers["exact"] == (not words)


def test_a_search_finds_no_more_than_the_exact_distance(fast, monkeypatch):
    monkeypatch.setattr(adversary, "STARTS", (CLOSE,))
    run = prepared("model=gaussian", "data.num_train=10")
    exact = adversarial(run).numbers
    monkeypatch.setattr(adversary, "_is_one_mean", lambda run: False)
    found = adversarial(run).numbers
    assert (exact["exact"], found["exact"]) == (1, 0)
    assert 0 < found["distance"] <= exact["distance"] + 1e-6


@pytest.mark.parametrize("words", [(), MULTIHEAD])
def test_progress_is_told_as_often_as_was_said(fast, words):
    run = prepared("model=gaussian", "data.num_train=5", *words)
    names = []
    adversarial(run, names.append)
    assert len(names) == passes(run)


@pytest.mark.slow
def test_next_to_the_learned_weights_others_are_found_for_every_example(monkeypatch):
    """Far starts alone find other weights for few of the examples of a model that reverses."""
    run = prepared("data=reverse", "model=additive", "seed=20", "data.num_test=20")
    list(Training(run).epochs())
    run.model.eval()
    monkeypatch.setattr(adversary, "STEPS", 250)
    both = adversarial(run).numbers
    monkeypatch.setattr(adversary, "STARTS", (FAR,))
    far = adversarial(run).numbers
    assert far["succeeded"] < 0.5
    assert both["succeeded"] == 1
    assert 0.14 < both["distance"] < math.log(2)


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


@pytest.mark.parametrize("heads", [1, 2])
def test_a_kernel_that_may_reach_nothing_has_one_map(heads, fast):
    """Its rows are asked for twice: the second time for whether they reach a key."""
    words = ("model=boxcar", f"arch.heads={heads}", "data.num_train=20", "data.num_test=12")
    run = prepared(*words)
    maps, _ = learned_maps(run.model, run.dataset.test, main_part(run.model))
    assert maps.mean.shape == (1, 12, 20)
    assert 0 <= adversarial(run).numbers["distance"] < math.log(2)
    assert between_seeds(run, [run.model]).numbers["distance"] == pytest.approx(0, abs=1e-6)
