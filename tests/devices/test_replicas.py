"""Models that train together on a GPU."""

import pytest
from composed import prepared
from pretended import devices

from attnexp.training.replicas.group import Replicas

SMALL = (
    *("data=copy", "arch=transformer", "arch.dim=8", "arch.heads=2", "arch.ff_dim=8"),
    *("data.num_train=24", "data.num_validation=4", "data.num_test=4", "data.max_length=3"),
    *("train.batch_size=12", "train.max_epochs=3", "train.clip_norm=1.0", "batched=true"),
)


def trained(device, *words, seeds=3):
    """The losses of each epoch of each replica, and its parameters at the end."""
    runs = [prepared(*SMALL, *words, f"seed={seed}", device=device) for seed in range(seeds)]
    group, losses = Replicas(runs), {}
    for number, event in group.fit():
        assert not isinstance(event, Exception), event
        if event is not None:
            losses.setdefault(number, []).append(event.loss)
    return losses, [[p.tolist() for p in run.model.parameters()] for run in runs]


@pytest.mark.slow
def test_replicas_train_on_a_gpu_as_on_the_cpu():
    on_cpu, _ = trained("cpu")
    with devices() as gpu:
        on_gpu, _ = trained("cuda")
        assert gpu.graphs, "the gradient is no graph"
        eager, _ = trained("cuda", "graphs=false")
    for number, losses in on_cpu.items():
        assert on_gpu[number] == pytest.approx(losses, rel=1e-4)
        assert eager[number] == pytest.approx(losses, rel=1e-4)


@pytest.mark.slow
def test_an_epoch_asks_no_more_of_many_replicas_than_of_few():
    """Beyond what each replica's validation and data ask."""
    counted = []
    for seeds in (2, 6):
        with devices() as gpu:
            trained("cuda", seeds=seeds)
            own = [n for line, n in gpu.waits.items() if line.startswith("training/")]
            counted.append(sum(own) / seeds)
    assert counted[1] <= counted[0]
