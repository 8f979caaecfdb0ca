"""Eager steps, and the same steps as graphs, which a tape plays here instead of a GPU."""

import copy
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from composed import training
from hydra.utils import instantiate
from operations import OnOneDevice, Tape
from tape import TapeRecorder

from attnexp.architectures.bottleneck import Bottleneck
from attnexp.architectures.decoder_only import DecoderOnly
from attnexp.architectures.kernel_regression import KernelRegression
from attnexp.architectures.positions.alibi import Alibi
from attnexp.architectures.rnn import Rnn
from attnexp.architectures.transformer import Transformer
from attnexp.data.reverse import Reverse
from attnexp.data.sine import Sine
from attnexp.scores.additive import Additive
from attnexp.tasks.regression import Regression
from attnexp.tasks.seq2seq import SequenceToSequence
from attnexp.training.base import TrainSettings
from attnexp.training.graphs import WARM_UPS, Captured
from attnexp.training.optimizers import Rprop
from attnexp.training.precision import choose_precision
from attnexp.training.schedules import Cosine
from attnexp.training.updates import (
    CapturedStep,
    EagerStep,
    Gradient,
    keeps_to_the_device,
    training_step,
)

FP32 = choose_precision("fp32", torch.device("cpu"))
BF16 = choose_precision("bf16", torch.device("cpu"))


@pytest.fixture(scope="module")
def data():
    return Reverse(
        torch.Generator().manual_seed(0), num_train=14, num_validation=4, num_test=4, max_length=3
    )


@pytest.fixture(autouse=True)
def adam_may_be_captured_here(monkeypatch):
    module = sys.modules[torch.optim.Adam.__module__]
    monkeypatch.setattr(module, "_get_capturable_supported_devices", lambda **_: ["cpu"])


ARCHITECTURES: dict[str, Callable[..., Any]] = {
    "rnn": partial(Rnn, embed_dim=5, hidden_dim=6, heads=2, dropout=0.2, attention_dropout=0.1),
    "lstm": partial(Rnn, embed_dim=5, hidden_dim=6, layers=2, cell="lstm"),
    "transformer": partial(Transformer, layers=1, heads=2, dim=6, ff_dim=7, dropout=0.2),
    "decoder_only": partial(
        DecoderOnly, layers=1, heads=2, dim=6, ff_dim=7, positions=Alibi, dropout=0.2
    ),
    "bottleneck": partial(Bottleneck, layers=1, heads=2, dim=6, ff_dim=7, dropout=0.2),
}
OPTIMIZERS = {
    "rprop": partial(Rprop, lr=0.01, scalar_lr=0.1, max_step=1.0),
    "adam": partial(torch.optim.Adam, lr=0.01, fused=True, weight_decay=0.1),
    "adamw": partial(torch.optim.AdamW, lr=0.01, fused=True),
}


def made(make, *arguments, **settings):
    torch.manual_seed(0)
    return make(*arguments, **settings)


def losses(step, batch, sizes=(5,), rounds=WARM_UPS + 3):
    """The losses of steps on batches of these sizes in turn, the learning rate changing at each."""
    batches = [batch.select(slice(size)) for size in sizes] * rounds
    return [step(each, 1 - i / (2 * len(batches))).item() for i, each in enumerate(batches)]


def both_ways(make_model, make_optimizer, task, batch, autocast=FP32.autocast, sizes=(5,)):
    """The losses of eager steps, those of captured ones, both models and the recorder."""
    models = [made(make_model) for _ in range(2)]
    gradients = [Gradient(model, task, 0.5, autocast) for model in models]
    optimizers = [make_optimizer(model.parameters()) for model in models]
    assert keeps_to_the_device(optimizers[1])
    recorder = TapeRecorder()
    eager = losses(EagerStep(gradients[0], optimizers[0]), batch, sizes)
    captured = losses(CapturedStep(gradients[1], optimizers[1], recorder), batch, sizes)
    return eager, captured, models, recorder


@pytest.fixture(scope="module")
def curves():
    """Points of a curve, of which a step takes some as queries."""
    data = Sine(torch.Generator().manual_seed(0), num_train=7)
    return data.spec, data.train


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_captured_steps_train_like_eager_ones(curves, optimizer):
    """Steps on two shapes in turn: the first of each prepare, the others are replayed."""
    spec, batch = curves
    eager, captured, models, recorder = both_ways(
        partial(KernelRegression, spec, Additive, features=3, heads=2, head_dim=2),
        OPTIMIZERS[optimizer],
        Regression(),
        batch,
        sizes=(5, 3),
    )
    assert captured == pytest.approx(eager, rel=1e-5)
    assert eager[-1] < eager[0]
    for one, other in zip(models[0].parameters(), models[1].parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)
    assert recorder.asked.count("warm up") == 2 * (WARM_UPS + 1)
    assert recorder.asked.count("rehearse") == recorder.asked.count("record") == 2
    assert recorder.asked.count("replay") == 2 * 2


@pytest.mark.parametrize(
    ("arch", "autocast"),
    [*((arch, FP32.autocast) for arch in ARCHITECTURES), ("rnn", BF16.autocast)],
    ids=[*ARCHITECTURES, "rnn_bf16"],
)
def test_every_architecture_can_be_captured(data, arch, autocast):
    """Dropout draws from its own generator: the captured step draws the same masks."""
    eager, captured, _, recorder = both_ways(
        partial(ARCHITECTURES[arch], data.spec, Additive),
        OPTIMIZERS["rprop"],
        SequenceToSequence(),
        data.train,
        autocast,
    )
    assert captured == eager
    assert "replay" in recorder.asked


def test_every_score_can_be_captured(data, model_name, settings_of):
    """No step waits. A forward pass is pure, so that is all that it takes."""
    score = partial(instantiate, settings_of("model", model_name))
    model = made(Transformer, data.spec, score, layers=1, heads=2, dim=4, ff_dim=3)
    gradient = Gradient(model, SequenceToSequence(), 0.5, FP32.autocast)
    assert TapeRecorder().rehearse(partial(gradient, data.train)).isfinite()


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_step_makes_nothing_on_another_device(data, arch):
    """What is made on the CPU has to be copied to a GPU, which waits."""
    nowhere = torch.device("meta")
    settings = {"dropout": 0.0, "attention_dropout": 0.0}
    model = made(ARCHITECTURES[arch], data.spec, Additive, **settings).to(nowhere)
    with OnOneDevice(nowhere):
        Gradient(model, SequenceToSequence(), 0.5, FP32.autocast)(data.train.to(nowhere))


def test_every_normalizer_is_captured_or_says_why_not(curves, normalizer_name, settings_of, capsys):
    spec, batch = curves
    normalizer = partial(instantiate, settings_of("normalizer", normalizer_name))
    eager, captured, _, recorder = both_ways(
        partial(KernelRegression, spec, Additive, normalizer, features=3),
        OPTIMIZERS["rprop"],
        Regression(),
        batch,
    )
    assert captured == eager
    ends_by_itself = ("sparsemax", "entmax15", "entmax", "asentmax")
    waits = normalizer_name in ends_by_itself
    assert ("replay" in recorder.asked) is not waits
    said = "the training step runs without a CUDA graph: called a synchronizing operation"
    assert (said in capsys.readouterr().out) is waits


def test_a_training_of_captured_steps_is_that_of_eager_ones(data, monkeypatch):
    """Through the loop: shuffled epochs whose last batch is smaller, validation, the best epoch."""

    def trained(take):
        monkeypatch.setattr("attnexp.training.loop.training_step", take)
        model = made(Transformer, data.spec, Additive, layers=1, heads=2, dim=4, ff_dim=3)
        settings = TrainSettings(max_epochs=4, batch_size=5, clip_norm=1.0)
        order = torch.Generator().manual_seed(1)
        optimizer = partial(torch.optim.Adam, lr=0.03, fused=True)
        rows = list(
            training(
                model, data, SequenceToSequence(), optimizer, Cosine(), settings, order
            ).epochs()
        )
        return [(row.loss, row.lr, row.validation["loss"]) for row in rows], model

    def captured(gradient, optimizer, graphs):
        assert graphs
        assert keeps_to_the_device(optimizer)
        return CapturedStep(gradient, optimizer, recorder)

    recorder = TapeRecorder()
    rows, model = trained(lambda gradient, optimizer, graphs: EagerStep(gradient, optimizer))
    again, other = trained(captured)
    assert recorder.asked.count("replay") == 12 - 2 * WARM_UPS - 2
    torch.testing.assert_close(again, rows, rtol=1e-4, atol=0)
    torch.testing.assert_close(other.state_dict(), model.state_dict(), rtol=1e-3, atol=1e-5)


class Counting(torch.optim.Adam):
    """An optimizer of a user's, which does something else at every third step."""

    def __init__(self, params, lr):
        super().__init__(params, lr=lr)
        self.taken = 0

    def step(self, closure=None):
        self.taken += 1
        loss = super().step(closure)
        if self.taken % 3 == 0:
            for group in self.param_groups:
                for parameter in group["params"]:
                    parameter.data.mul_(0.99)
        return loss


@pytest.mark.parametrize(
    "optimizer", [Counting, torch.optim.SGD, partial(torch.optim.LBFGS, max_iter=2)]
)
def test_where_an_update_cannot_be_captured_the_gradient_is(curves, optimizer):
    spec, batch = curves
    models = [made(KernelRegression, spec, Additive, features=3) for _ in range(2)]
    gradients = [Gradient(model, Regression(), 0.5, FP32.autocast) for model in models]
    descents = [optimizer(model.parameters(), lr=0.1) for model in models]
    assert not keeps_to_the_device(descents[1])
    recorder = TapeRecorder()
    work = with_its_gradients(gradients[1], recorder)
    captured = Captured("the gradient", work, recorder, models[1])
    eager = losses(EagerStep(gradients[0], descents[0]), batch, (5, 3))
    again = losses(EagerStep(captured, descents[1]), batch, (5, 3))
    assert again == pytest.approx(eager, rel=1e-5)
    assert "replay" in recorder.asked


def with_its_gradients(gradient, recorder):
    """Each tape leaves the gradients that it writes, as `CudaRecorder` does."""
    record = recorder.record

    def recorded(work):
        replay = record(work)
        written = [(parameter, parameter.grad) for parameter in gradient.model.parameters()]

        def replay_and_leave():
            loss = replay()
            for parameter, each in written:
                parameter.grad = each
            return loss

        return replay_and_leave

    recorder.record = recorded
    return gradient


def test_which_updates_keep_to_the_device():
    parameter = torch.nn.Parameter(torch.zeros(2))
    assert keeps_to_the_device(OPTIMIZERS["rprop"]([parameter]))
    assert keeps_to_the_device(torch.optim.Adam([parameter], fused=True))
    assert not keeps_to_the_device(torch.optim.Adam([parameter]))
    assert not keeps_to_the_device(torch.optim.NAdam([parameter]))
    assert not keeps_to_the_device(torch.optim.SGD([parameter], lr=0.1))
    assert not keeps_to_the_device(Counting([parameter], lr=0.1))
    double = torch.optim.Adam([torch.nn.Parameter(parameter.data.double())], fused=True)
    assert not keeps_to_the_device(double)
    assert double.param_groups[0]["capturable"] is False


@pytest.mark.parametrize(("device", "graphs"), [("cpu", True), ("cuda", False)])
def test_steps_are_eager_on_the_cpu_and_without_graphs(data, monkeypatch, device, graphs):
    model = made(Rnn, data.spec, Additive, embed_dim=5, hidden_dim=6)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    gradient = Gradient(model, SequenceToSequence(), None, FP32.autocast)
    monkeypatch.setattr(torch.nn.Parameter, "device", torch.device(device))
    assert isinstance(training_step(gradient, optimizer, graphs=graphs), EagerStep)
    assert optimizer.param_groups[0]["capturable"] is False


class Wrong(TapeRecorder):
    """Its graphs compute another loss, nothing, or only a part of the update."""

    def __init__(self, wrong):
        super().__init__()
        self.wrong = wrong

    def record(self, work):
        if self.wrong == "loss":
            replay = super().record(work)
            return lambda: replay() * 1.1
        with Tape() as tape:
            loss = work()
        tape.rewind()
        tape.calls = tape.calls[:-6] if self.wrong == "update" else []
        return lambda: (tape.replay(), loss.clone())[1]


@pytest.mark.parametrize("wrong", ["loss", "nothing", "update"])
def test_a_graph_that_computes_something_else_is_not_used(data, wrong, capsys):
    """The first replay is compared with the eager step on the same batch, from the same state."""
    models = [made(ARCHITECTURES["rnn"], data.spec, Additive) for _ in range(2)]
    gradients = [Gradient(model, SequenceToSequence(), 0.5, FP32.autocast) for model in models]
    descents = [OPTIMIZERS["rprop"](model.parameters()) for model in models]
    eager = losses(EagerStep(gradients[0], descents[0]), data.train)
    assert losses(CapturedStep(gradients[1], descents[1], Wrong(wrong)), data.train) == eager
    for one, other in zip(*(model.parameters() for model in models), strict=True):
        assert one.equal(other)
    said = "the training step runs without a CUDA graph: its first replay differs from the eager"
    assert said in capsys.readouterr().out


def test_what_cannot_be_recorded_is_done_eagerly_once(data, capsys):
    """A failure in the rehearsal or in the capture loses no batch and repeats none."""

    class Refusing(TapeRecorder):
        def record(self, work):
            super().record(work)
            raise RuntimeError("operation not permitted when stream is capturing\nmore lines")

    batch, done = data.train, []
    do = lambda given: done.append(given) or torch.zeros(())  # noqa: E731
    work = Captured("the work", do, Refusing(), torch.nn.Module())
    copies = [copy.copy(batch) for _ in range(6)]
    for each in copies:
        work(each)
    eagerly = [each for each in done if any(each is one for one in copies)]
    assert [id(each) for each in eagerly] == [id(each) for each in copies]
    assert capsys.readouterr().out == (
        "the work runs without a CUDA graph: operation not permitted when stream is capturing\n"
    )
