"""The statements of docs/performance.md on GPUs, on pretended ones."""

import re
from pathlib import Path

import pytest
from composed import prepared
from conftest import choice_names
from pretended import devices
from torch.utils._python_dispatch import TorchDispatchMode

from attnexp.attention import pooling, streaming
from attnexp.training.graphs import WARM_UPS, Captured
from attnexp.training.loop import Training
from attnexp.training.updates import CapturedStep

TEXT = (Path(__file__).parents[2] / "docs" / "performance.md").read_text()
SMALL = (
    *("data=reverse", "model=additive", "arch.hidden_dim=8", "arch.embed_dim=8"),
    *("data.num_train=12", "data.num_validation=4", "data.num_test=4", "data.max_length=3"),
    *("train.batch_size=12", "train.max_epochs=2"),
)


def steps(*words):
    """Return the step of a run after enough batches for a graph."""
    run = prepared(*SMALL, *words, device="cuda")
    training = Training(run)
    batch = run.dataset.train.select(slice(12))
    for _ in range(WARM_UPS + 3):
        training._update(batch, 1.0)
    return training._update


def kernel_by_kernel(step):
    """Whether the work of a step was recorded and then left to run eagerly."""
    captured = step._update if isinstance(step, CapturedStep) else step._gradient
    assert isinstance(captured, Captured)
    return captured._eager


def row(end):
    """The first cell of the row of the table that ends so."""
    (found,) = re.findall(rf"^\| ([^|]*) \| {re.escape(end)} \|$", TEXT, re.M)
    return found


WHOLE, GRADIENT = "the whole step is a graph", "the gradient is a graph, the update runs by itself"
OPTIMIZERS = {
    "`optim=adam`": (("optim=adam",), WHOLE),
    "`optim=rprop`": (("optim=rprop", "schedule=constant"), WHOLE),
    "`precision=bf16`": (("precision=bf16",), WHOLE),
    "AdamW": (("optim._target_=torch.optim.AdamW",), WHOLE),
    "`optim=sgd`": (("optim=sgd",), GRADIENT),
    "without `fused`": (("optim.fused=false",), GRADIENT),
    "other optimizers": (("optim._target_=torch.optim.NAdam", "~optim.fused"), GRADIENT),
    "`precision=fp64`": (("precision=fp64",), GRADIENT),
}


@pytest.mark.first(3)
@pytest.mark.parametrize("named", OPTIMIZERS)
def test_a_step_is_the_graph_that_the_table_says(named):
    words, says = OPTIMIZERS[named]
    assert named in row(says)
    with devices():
        step = steps(*words)
        assert isinstance(step, CapturedStep) == (says == WHOLE)
        assert not kernel_by_kernel(step)


@pytest.mark.first(2)
@pytest.mark.parametrize("normalizer", choice_names("normalizer"))
def test_the_normalizers_that_wait_are_those_of_the_table(normalizer):
    (waiting,) = re.findall(r"^\| (`normalizer=.*): their iterations ask", TEXT, re.M)
    with devices():
        step = steps(f"normalizer={normalizer}")
    named = {name.removeprefix("normalizer=") for name in re.findall(r"`([^`]*)`", waiting)}
    assert kernel_by_kernel(step) == (normalizer in named)


def test_a_regression_by_tiles_is_no_graph_and_asks_once_a_group(monkeypatch):
    monkeypatch.setattr(pooling, "LARGE", 2**20)
    monkeypatch.setattr(streaming, "TILE", 2**15)
    monkeypatch.setattr(streaming, "LARGE_TILE", 2**20)
    assert "kernel by kernel" in re.findall(r"^\| regression by tiles.*$", TEXT, re.M)[0]
    with devices() as gpu:
        run = prepared("data.num_train=1100", "graphs=false", device="cuda")
        training = Training(run)
        gpu.waits.clear()
        training._update(run.dataset.train, 1.0)
        assert set(gpu.waits) <= {line for line in gpu.waits if line.startswith("attention/stream")}
        assert 0 < gpu.waits.total() <= 65


@pytest.mark.slow
def test_entmax_of_another_alpha_is_a_graph():
    with devices():
        assert not kernel_by_kernel(steps("normalizer=entmax", "normalizer.alpha=1.7"))


class Counted(TorchDispatchMode):
    """Counts the operations of a block; views launch nothing."""

    def __init__(self):
        super().__init__()
        self.number = 0

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        view = any(
            each.alias_info and not each.alias_info.is_write for each in function._schema.returns
        )
        self.number += not view
        return function(*arguments, **options or {})


@pytest.mark.first(3)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("data=reverse", "model=additive"), r"are\s+(\S+)\s+operations\s+with\s+the\s+RNN"),
        (
            ("data=reverse", "arch=transformer", "model=scaled_dot"),
            r"and\s+(\S+)\s+with\s+the\s+trans",
        ),
    ],
)
def test_operations_of_a_step_are_counted(words, said):
    run = prepared(*words, "train.clip_norm=1.0")
    training = Training(run)
    with Counted() as counted:
        training._gradient(run.dataset.train.select(slice(32)))
    (number,) = re.findall(said, TEXT)
    assert counted.number == pytest.approx(float(number.replace(",", "")), rel=0.05)
