"""What a step keeps for its gradients is refused where it has no room, and nothing else is."""

import pytest
import torch
from torch.autograd.graph import saved_tensors_hooks

from attnexp.batch import Points
from attnexp.config import room
from attnexp.config.build import prepare
from attnexp.config.compose import CommandLine

FEW = ("data.num_train=200", "data.num_validation=8", "data.num_test=8", "train.batch_size=100")

RUNS = [
    ("data=reverse", "model=dot", *FEW),
    ("data=reverse", "model=additive", *FEW),
    ("data=reverse", "model=additive", "arch.layers=2", "arch.heads=2", *FEW),
    ("data=reverse", "model=dot", "arch.cell=lstm", "arch.hidden_dim=128", *FEW),
    ("data=reverse", "model=scaled_dot", "arch=transformer", *FEW),
    ("data=reverse", "model=scaled_dot", "arch=decoder_only", *FEW),
    ("data=recall", "model=scaled_dot", "arch=transformer", *FEW),
    ("model=dot", "arch.features=64", "data.num_train=400"),
]


def prepared(*words):
    job = CommandLine.read(words).compose()
    return prepare(job.config, job.chosen)


def bytes_saved(run):
    """Return the bytes that autograd and our own derivatives save in one step."""
    size = run.settings.batch_size or len(run.dataset.train)
    batch = run.dataset.train.select(torch.arange(size))
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = run.task.loss(run.model(batch), batch)
    assert loss.requires_grad
    return sum(storage.nbytes() for storage in kept.values())


@pytest.mark.parametrize("words", RUNS, ids=" ".join)
def test_the_estimate_is_below_what_a_step_keeps_and_not_far(in_process, words):
    run = prepared(*words)
    batch = run.dataset.train
    size = min(run.settings.batch_size or len(batch), len(batch))
    queries, keys = batch.queries.shape[1], batch.keys.shape[1]
    shared = isinstance(batch, Points)
    sizes = (size, keys, 1) if shared else (queries, keys, size)
    estimate, saved = 4 * run.model.kept(*sizes), bytes_saved(run)
    assert estimate <= saved <= 8 * estimate


def test_what_has_no_room_is_refused_before_it_is_made(in_process, monkeypatch, tmp_path):
    words = ("data=reverse", "model=additive", *FEW)
    monkeypatch.setattr(room, "available_memory", lambda: 3 * 10**6)
    answer = in_process(*words)
    assert answer.returncode == 2
    assert "a step of training keeps more than 0.0 GB for its gradients, and 0.0 GB" in (
        answer.stderr
    )
    assert "choose a smaller train.batch_size" in answer.stderr
    assert len(answer.stderr) < 300
    assert list(tmp_path.iterdir()) == []
    assert prepared(*words[:-1], "train.batch_size=10")


def test_a_batch_has_no_more_examples_than_there_are(in_process, monkeypatch):
    words = ("data=reverse", "model=dot", *FEW[:-1])
    monkeypatch.setattr(room, "available_memory", lambda: 2 * 10**7)
    assert prepared(*words, "train.batch_size=1000000000")
