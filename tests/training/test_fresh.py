"""Data that draw new examples for each pass: the same bits after an interruption and in company."""

import copy

import pytest
import torch
from composed import prepared

from attnexp.training.loop import Training
from attnexp.training.replicas.group import Replicas

SMALL = (
    "data=markov",
    "data.num_train=24",
    "data.num_validation=5",
    "data.num_test=5",
    "data.length=7",
    "arch.dim=8",
    "arch.heads=1",
    "arch.layers=1",
    "arch.ff_dim=8",
    "train.batch_size=8",
    "train.max_epochs=3",
    "train.stop_metric=null",
    "train.stop_at=null",
)
STEPS = 9


def seen(run):
    """Record the chains of each update of a run, in order."""
    chains = []
    loss = run.task.loss

    def recorded(prediction, batch):
        if len(batch) == 8:  # and not the validation set
            chains.append(batch.targets.clone())
        return loss(prediction, batch)

    run.task.loss = recorded
    return chains


def parameters(run):
    return [p.detach().clone() for p in run.model.parameters()]


def equal(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_no_chain_of_a_pass_comes_again():
    run = prepared(*SMALL)
    chains = seen(run)
    list(Training(run).epochs())
    assert len(chains) == STEPS
    passes = [torch.cat(chains[i : i + 3]) for i in (0, 3, 6)]
    assert not torch.equal(passes[0].sort(dim=0).values, passes[1].sort(dim=0).values)
    assert not torch.equal(passes[1].sort(dim=0).values, passes[2].sort(dim=0).values)


def test_an_interrupted_pass_goes_on_with_the_same_chains():
    whole = prepared(*SMALL)
    chains = seen(whole)
    list(Training(whole).epochs())
    for stop in (1, STEPS // 2, STEPS - 1):
        state = interrupted(prepared(*SMALL), stop)
        again = prepared(*SMALL)
        later = seen(again)
        list(Training(again, state).epochs())
        assert len(later) == STEPS - stop
        assert equal(later, chains[stop:])
        assert equal(parameters(again), parameters(whole))


class Stopped(Exception):
    """Ends a training after an update."""


def interrupted(run, stop):
    """Train for so many updates, and return the state after them."""
    training, updates = Training(run), []

    def after_update():
        updates.append(1)
        if len(updates) == stop:
            raise Stopped

    with pytest.raises(Stopped):
        list(training.epochs(after_update))
    return copy.deepcopy(training.state())


def test_replicas_have_the_chains_that_they_have_in_other_company():
    def trained(*seeds):
        runs = [prepared(*SMALL, f"seed={seed}") for seed in seeds]
        list(Replicas(runs).fit())
        return {seed: parameters(run) for seed, run in zip(seeds, runs, strict=True)}

    two, three = trained(0, 1), trained(2, 1, 0)
    assert equal(two[0], three[0])
    assert equal(two[1], three[1])
    assert not equal(two[0], two[1])


def test_one_portion_is_drawn_anew_too():
    """A pass in one portion is stacked once for data that stay, and each time for these."""
    runs = [prepared(*SMALL, "train.batch_size=null", f"seed={seed}") for seed in (0, 1)]
    group = Replicas(runs)
    drawn = [next(iter(group._portions())).tensors["targets"].clone() for _ in range(2)]
    assert not torch.equal(*drawn)
    fixed = [prepared("data.num_train=9", "train.max_epochs=2", f"seed={seed}") for seed in (0, 1)]
    group = Replicas(fixed)
    assert next(iter(group._portions())) is next(iter(group._portions()))
