"""The derivative that is written out against the one that autograd records."""

from functools import partial

import pytest
import torch
from torch.func import functional_call, stack_module_state

from attnexp.architectures.recurrence.unrolled import Unrolled
from attnexp.architectures.rnn import Rnn
from attnexp.normalizers.sigmoid import Sigmoid
from attnexp.normalizers.softmax import Softmax
from attnexp.scores.additive import Additive
from attnexp.scores.bilinear import Bilinear
from attnexp.scores.cosine import Cosine
from attnexp.scores.dot import Dot
from attnexp.scores.scaled_dot import ScaledDot

SCORES = (Additive, Dot, ScaledDot, Bilinear)


@pytest.fixture(params=["gru", "lstm"])
def make(request, spec):
    torch.manual_seed(3)
    return partial(Rnn, spec, cell=request.param, embed_dim=5, hidden_dim=6)


@pytest.fixture
def calls(monkeypatch):
    """One entry for each recurrence that went through `Unrolled`."""
    made = []
    apply = Unrolled.apply
    monkeypatch.setattr(Unrolled, "apply", lambda *given: made.append(1) or apply(*given))
    return made


def loss(prediction):
    return prediction.outputs.square().mean() + prediction.outputs[:, 0].sin().sum()


def gradients(model):
    return {name: parameter.grad for name, parameter in model.named_parameters()}


@pytest.mark.parametrize("score", SCORES)
def test_values_and_gradients_are_those_of_the_recorded_steps(
    score, make, batch, calls, monkeypatch
):
    model = make(score).double()
    outputs = model(batch).outputs
    loss(model(batch)).backward()
    found = gradients(model)
    assert calls
    model.zero_grad()
    monkeypatch.setattr(Rnn, "_written_out", lambda self: None)
    torch.testing.assert_close(outputs, model(batch).outputs)
    loss(model(batch)).backward()
    torch.testing.assert_close(found, gradients(model))


@pytest.mark.parametrize(
    "settings",
    [
        {"score": Cosine},
        {"score": Additive, "normalizer": Sigmoid},
        {"score": Additive, "normalizer": type("Mine", (Softmax,), {})},
        {"score": Additive, "heads": 2},
        {"score": Additive, "layers": 2},
        {"score": Additive, "attention_dropout": 0.5},
    ],
)
def test_what_has_no_derivative_written_out_is_recorded(settings, make, batch, calls):
    loss(make(**settings)(batch)).backward()
    assert not calls


@pytest.mark.parametrize("score", SCORES)
def test_copies_under_vmap_have_the_losses_and_gradients_that_they_have_alone(
    score, make, batch, calls
):
    models = [make(score) for _ in range(2)]
    parameters, buffers = stack_module_state(models)
    together = torch.vmap(
        lambda *state: loss(functional_call(models[0], state, (batch,))), randomness="error"
    )(parameters, buffers)
    together.sum().backward()
    for i, model in enumerate(models):
        alone = loss(model(batch))
        alone.backward()
        torch.testing.assert_close(together[i], alone, rtol=1e-5, atol=1e-5)
        for name, gradient in gradients(model).items():
            torch.testing.assert_close(parameters[name].grad[i], gradient, rtol=1e-5, atol=1e-5)
    assert calls


def test_bfloat16_has_no_clash_of_dtypes(make, batch, calls):
    whole = make(Additive).bfloat16()
    loss(whole(batch)).backward()
    assert all(gradient.isfinite().all() for gradient in gradients(whole).values())
    mixed = make(Additive)
    with torch.autocast("cpu", torch.bfloat16):
        prediction = mixed(batch)
    loss(prediction).backward()
    assert all(gradient.dtype == torch.float32 for gradient in gradients(mixed).values())
    assert calls
