"""A step, a validation and decoding with every choice, on a pretended GPU: nothing mixes devices.

What waits in a step is one of a few lines, each with a reason.
"""

import pytest
import torch
from composed import prepared
from conftest import choice_names
from pretended import devices

from attnexp.training.loop import Training

SEQUENCES = (
    *("data=copy", "data.max_length=4", "data.num_train=24", "data.num_validation=4"),
    *("data.num_test=4", "train.batch_size=12", "train.max_epochs=1", "graphs=false"),
)
HEADS = ("arch.dim=8", "arch.heads=2", "arch.ff_dim=8", "arch.layers=1")
RNN = ("data=reverse", "arch=rnn", "arch.hidden_dim=8", "arch.embed_dim=8", *SEQUENCES[1:])
TRANSFORMER = ("arch=transformer", *HEADS, *SEQUENCES)

CASES = {
    **{f"rnn, {name}": (f"model={name}", *RNN) for name in choice_names("model")},
    **{f"transformer, {name}": (f"model={name}", *TRANSFORMER) for name in choice_names("model")},
    **{name: (f"normalizer={name}", *TRANSFORMER) for name in choice_names("normalizer")},
    **{name: (f"positions={name}", *TRANSFORMER) for name in choice_names("positions")},
    **{
        f"{arch}, {precision}": (f"arch={arch}", f"precision={precision}", *HEADS, *SEQUENCES)
        for arch in ("decoder_only", "bottleneck", "transformer")
        for precision in ("fp32", "fp64", "bf16")
    },
}
WAITS = {
    "attention/pooling.py": "a compact kernel may leave a query no key",
    "normalizers/threshold.py": "an iteration ends when nothing changes",
}


@pytest.mark.slow
@pytest.mark.parametrize("words", CASES.values(), ids=CASES)
def test_a_choice_runs_on_a_gpu(words):
    with devices() as gpu:
        run = prepared(*words, device="cuda")
        training = Training(run)
        batch = run.dataset.train.select(slice(12))
        gpu.waits.clear()
        training._update(batch, 1.0)
        waited = {line.partition(":")[0] for line in gpu.waits}
        assert waited <= WAITS.keys()
        with torch.no_grad():
            run.task.evaluate(run.model.eval(), run.dataset)
            assert run.dataset.validation is not None
            assert run.task.validate(run.model, run.dataset.validation)
