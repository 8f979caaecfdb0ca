"""The interpreter of a page computes what PyTorch computes, for every class of conf/."""

import pytest
import torch
from composed import prepared
from conftest import choice_names
from interpreted import interpreted, needs_node, numbers_of

from attnexp.core.batch import Seq2SeqSpec
from attnexp.tracing.program import program_of
from attnexp.tracing.trace import traced

CURVE = ("data.num_train=12", "data.num_test=5")
SEQUENCES = (
    *("data=reverse", "data.num_train=8", "data.num_validation=8", "data.num_test=8"),
    *("data.max_length=5", "data.test_max_length=null"),
)
SMALL = ("arch.dim=8", "arch.layers=1", "arch.heads=2", "arch.ff_dim=8")

WORDS = [
    *(("model=" + name, *CURVE) for name in choice_names("model")),
    *(("normalizer=" + name, "model=scaled_dot", *CURVE) for name in choice_names("normalizer")),
    ("model=additive", "arch.features=4", "arch.heads=2", *CURVE),
    ("arch=rnn", "model=additive", *SEQUENCES, "arch.hidden_dim=8", "arch.embed_dim=6"),
    ("arch=rnn", "model=dot", *SEQUENCES, "arch.hidden_dim=8", "arch.cell=lstm", "arch.layers=2"),
    ("arch=pooling", "model=scaled_dot", "normalizer=entmax15", *SEQUENCES, "arch.dim=8"),
    ("arch=transformer", "model=additive", *SEQUENCES, *SMALL),
    *(
        ("arch=decoder_only", "model=scaled_dot", *SEQUENCES, *SMALL, f"arch.positions={name}")
        for name in ("sinusoidal", "learned", "rotary", "alibi", "t5", "none")
    ),
]


def rounded(model):
    """Round the parameters of a model as a program stores them."""
    with torch.no_grad():
        for tensor in (*model.parameters(), *model.buffers()):
            if tensor.is_floating_point():
                tensor.copy_(tensor.half())
    return model


def example(run):
    """The first test example, whose source has padding behind it, or all of a curve."""
    if not isinstance(run.dataset.spec, Seq2SeqSpec):
        return run.dataset.test
    lengths = run.dataset.test.mask.sum(dim=-1).flatten()
    return run.dataset.test.select(slice(int(lengths.argmin()), int(lengths.argmin()) + 1))


@pytest.fixture(scope="module")
def answers():
    """What PyTorch and the interpreter answer to an example that the graph was not traced on."""
    jobs, wanted = [], []
    for words in WORDS:
        run = prepared(*words)
        model, batch = rounded(run.model.eval()), example(run)
        program = program_of(traced(model, batch))
        with torch.no_grad():
            prediction = model(batch, need_weights=True)
        found = {"outputs": prediction.outputs, **prediction.weights}
        inputs = {name: numbers_of(tensor) for name, tensor in batch.tensors().items()}
        jobs.append({"program": program, "inputs": inputs, "outputs": list(found)})
        wanted.append({name: tensor.flatten() for name, tensor in found.items()})
    return dict(zip(WORDS, zip(wanted, interpreted(jobs), strict=True), strict=True))


@needs_node
@pytest.mark.parametrize("words", WORDS, ids=lambda words: " ".join(words[:2]))
def test_a_page_computes_what_pytorch_computes(answers, words):
    wanted, found = answers[words]
    assert list(found) == list(wanted)
    for name, tensor in wanted.items():
        scale = max(1.0, float(tensor.abs().max()))
        torch.testing.assert_close(found[name], tensor, rtol=1e-4, atol=2e-5 * scale, msg=name)
