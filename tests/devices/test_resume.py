"""A training on a GPU that goes on from its state ends with the bits of one that never stopped."""

import pytest
import torch
from composed import prepared
from pretended import devices
from torch.utils._pytree import tree_map

from attnexp.training.loop import Training

CURVE = ("model=additive", "optim=adam", "threads=1", "train.batch_size=20", "train.max_epochs=4")
REVERSE = (
    *("data=reverse", "model=additive", "arch.hidden_dim=8", "arch.embed_dim=8", "threads=1"),
    *("data.num_train=24", "data.num_validation=2", "data.num_test=2", "data.max_length=3"),
    *("train.batch_size=8", "train.max_epochs=3"),
)
OPTIMIZERS = {
    "fused": (),
    "unfused": ("optim.fused=false",),
    "adamw": ("optim._target_=torch.optim.AdamW", "~optim.fused"),
    "fused adamw": ("optim._target_=torch.optim.AdamW",),
    "nadam": ("optim._target_=torch.optim.NAdam", "~optim.fused"),
    "momentum": ("optim=sgd", "optim.momentum=0.9"),
    "own": ("optim=rprop", "schedule=constant"),
}
STOPPED = 5
"""Updates before the stop: in the middle of the second epoch, and after a capture."""


def on_cpu(state):
    """A state as a checkpoint holds it: without a device, and apart from what goes on."""
    return tree_map(lambda leaf: leaf.cpu().clone() if torch.is_tensor(leaf) else leaf, state)


def trained(words, device, state=None):
    """The parameters of a training, its losses, and its state after some updates."""
    run = prepared(*words, device=device)
    training, states = Training(run, state), []

    def after_update():
        if training._progress.step == STOPPED:
            states.append(on_cpu(training.state()))

    losses = [epoch.loss for epoch in training.epochs(after_update)]
    return [parameter.tolist() for parameter in run.model.parameters()], losses, states


@pytest.mark.first(3)
@pytest.mark.parametrize("words", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_every_optimizer_goes_on(words):
    with devices():
        whole, losses, (state,) = trained((*CURVE, *words), "cuda")
        again, rest, _ = trained((*CURVE, *words), "cuda", state)
    assert again == whole
    assert rest == losses[1:]
    assert all(loss == loss for loss in losses)


@pytest.mark.slow
@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
def test_dropout_goes_on_with_the_masks_of_its_gpu(device):
    words = (*REVERSE, "arch.dropout=0.3", "arch.attention_dropout=0.1")
    with devices(2):
        whole, losses, (state,) = trained(words, device)
        again, rest, _ = trained(words, device, state)
    assert again == whole
    assert rest == losses[1:]


def test_a_training_goes_on_with_the_same_masks_on_another_gpu():
    words = (
        *REVERSE,
        "arch.dropout=0.3",
    )
    with devices(2):
        whole, _, (state,) = trained(words, "cuda:0")
        assert trained(words, "cuda:1", state)[0] == whole
