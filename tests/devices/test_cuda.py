"""Steps on a GPU, or on one that is pretended: see `tests/devices/pretended.py`."""

import copy
from contextlib import contextmanager, nullcontext
from functools import partial

import pytest
import torch
from conftest import choice_names
from hydra.utils import instantiate
from pretended import devices

from attnexp.architectures.decoder_only import DecoderOnly
from attnexp.architectures.positions.rotary import Rotary
from attnexp.architectures.rnn import Rnn
from attnexp.architectures.transformer import Transformer
from attnexp.data.reverse import Reverse
from attnexp.scores.additive import Additive
from attnexp.tasks.seq2seq import SequenceToSequence
from attnexp.training.graphs import WARM_UPS, Captured, CudaRecorder
from attnexp.training.precision import choose_precision
from attnexp.training.updates import CapturedStep, EagerStep, Gradient, training_step

pytestmark = pytest.mark.filterwarnings("ignore:Synchronization debug mode")

ARCHITECTURES = {
    "rnn": partial(Rnn, embed_dim=8, hidden_dim=8, heads=2),
    "lstm": partial(Rnn, embed_dim=8, hidden_dim=8, layers=2, cell="lstm"),
    "transformer": partial(Transformer, layers=2, heads=2, dim=8, ff_dim=8),
    "decoder_only": partial(DecoderOnly, layers=2, heads=2, dim=8, ff_dim=8, positions=Rotary),
}
ADAM = partial(torch.optim.Adam, lr=0.01, betas=(0.9, 0.98), fused=True)


@pytest.fixture(scope="module", autouse=True)
def gpu():
    """A GPU for the tests of this module."""
    with nullcontext() if torch.cuda.is_available() else devices():
        yield


@pytest.fixture(scope="module")
def data(gpu):
    made = Reverse(
        torch.Generator().manual_seed(0), num_train=20, num_validation=4, num_test=30, max_length=5
    )
    return made.to(torch.device("cuda"))


@contextmanager
def no_waiting():
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def model_of(data, make, *arguments, **settings):
    torch.manual_seed(0)
    return make(data.spec, Additive, *arguments, **settings).cuda()


def gradient_of(model, precision="fp32"):
    autocast = choose_precision(precision, torch.device("cuda")).autocast
    return Gradient(model, SequenceToSequence(), 1.0, autocast)


def losses(step, data, steps=12):
    """The losses on batches of two sizes in turn, asked for at the end."""
    sizes = [data.train.select(slice(12)), data.train.select(slice(12, 20))]
    taken = [step(sizes[i % 2], 1 - i / (2 * steps)) for i in range(steps)]
    return torch.stack(taken).tolist()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arch", "precision"),
    [
        *(("rnn", "fp32"), ("transformer", "fp32")),
        *(pytest.param(arch, "fp32", marks=pytest.mark.slow) for arch in ("lstm", "decoder_only")),
        pytest.param("transformer", "bf16", marks=pytest.mark.slow),
    ],
)
def test_captured_steps_train_like_eager_ones(data, arch, precision):
    models = [model_of(data, ARCHITECTURES[arch]) for _ in range(2)]
    gradients = [gradient_of(model, precision) for model in models]
    eager = EagerStep(gradients[0], ADAM(models[0].parameters()))
    captured = training_step(gradients[1], ADAM(models[1].parameters()))
    assert isinstance(captured, CapturedStep)
    expected = losses(eager, data)
    tolerance = 1e-3 if precision == "fp32" else 3e-2
    assert losses(captured, data) == pytest.approx(expected, rel=tolerance)
    assert expected[-1] < expected[0]
    if precision == "fp32":
        for one, other in zip(*(model.parameters() for model in models), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-2, atol=1e-3)


@pytest.mark.first(2)
@pytest.mark.parametrize(
    "name",
    [
        name
        if name in ("additive", "gaussian_learned")
        else pytest.param(name, marks=pytest.mark.slow)
        for name in choice_names("model")
    ],
)
def test_no_step_waits_for_the_gpu(data, name, settings_of):
    """Eager steps with every score, and captured ones once they are recorded."""
    torch.manual_seed(0)
    score = partial(instantiate, settings_of("model", name))
    model = Transformer(data.spec, score, layers=1, heads=2, dim=8, ff_dim=8).cuda()
    batch = data.train.select(slice(12))
    for step in (
        EagerStep(gradient_of(model), torch.optim.Adam(model.parameters(), fused=True)),
        training_step(gradient_of(model), ADAM(model.parameters())),
    ):
        for _ in range(WARM_UPS + 2):
            step(batch, 1.0)
        with no_waiting():
            for _ in range(3):
                loss = step(batch, 0.5)
        assert loss.isfinite()


@pytest.mark.slow
def test_a_loss_stays_what_it_was_and_replays_take_no_more_memory(data):
    model = model_of(data, ARCHITECTURES["transformer"])
    step = training_step(gradient_of(model), ADAM(model.parameters()))
    batch = data.train.select(slice(12))
    for _ in range(WARM_UPS + 3):
        first = step(batch, 1.0)
    loss, before = first.item(), torch.cuda.memory_allocated()
    for _ in range(20):
        last = step(batch, 1.0)
    assert first.item() == loss != last.item()
    assert torch.cuda.memory_allocated() <= before + 1024


def test_replays_draw_new_dropout_masks(data):
    model = model_of(data, ARCHITECTURES["rnn"], dropout=0.3)
    step = training_step(gradient_of(model), ADAM(model.parameters()))
    batch = data.train.select(slice(12))
    drawn = [step(batch, 0.0).item() for _ in range(WARM_UPS + 9)]
    assert len(set(drawn)) == len(drawn)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["fp32", pytest.param("fp64", marks=pytest.mark.slow)])
def test_what_waits_stays_eager_and_trains_the_same(data, precision, capsys):
    """Sparsemax asks whether its iteration has ended."""
    from attnexp.normalizers.sparsemax import Sparsemax

    dtype = choose_precision(precision, torch.device("cuda")).dtype
    models = [model_of(data, ARCHITECTURES["rnn"], normalizer=Sparsemax).to(dtype) for _ in "ab"]
    gradients = [gradient_of(model) for model in models]
    eager = losses(EagerStep(gradients[0], ADAM(models[0].parameters())), data)
    captured = losses(training_step(gradients[1], ADAM(models[1].parameters())), data)
    assert captured == pytest.approx(eager, rel=1e-3 if dtype == torch.float32 else 1e-9)
    what = "the training step" if precision == "fp32" else "the gradient"
    assert capsys.readouterr().out.startswith(f"{what} runs without a CUDA graph: ")


def test_a_failed_capture_leaves_a_gpu_that_computes(data, capsys):
    class Unrehearsed(CudaRecorder):
        def rehearse(self, work):
            return self.warm_up(work)

    model = model_of(data, ARCHITECTURES["rnn"])
    recorder = Unrehearsed(model, torch.device("cuda", 0))
    wait = lambda batch: torch.tensor(float(batch.keys.sum().item())).cuda()  # noqa: E731
    work = Captured("a sum", wait, recorder, model)
    expected = data.train.keys.sum().item()
    assert [work(data.train).item() for _ in range(WARM_UPS + 4)] == [expected] * (WARM_UPS + 4)
    assert capsys.readouterr().out.startswith("a sum runs without a CUDA graph: ")
    step = training_step(gradient_of(model), ADAM(model.parameters()))
    assert losses(step, data)[-1] > 0


@pytest.mark.first(2)
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_gpu_decodes_what_the_cpu_decodes(data, arch):
    model = model_of(data, ARCHITECTURES[arch]).double().eval()
    keys, mask, width = data.test.keys, data.test.mask, data.test.targets.shape[1]
    answers = model.greedy(keys, mask, width).cpu()
    on_cpu = copy.deepcopy(model).cpu().greedy(keys.cpu(), mask.cpu(), width)
    assert answers.equal(on_cpu)
