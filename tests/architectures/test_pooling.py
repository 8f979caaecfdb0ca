"""Attention pooling over symbols."""

import pytest
import torch

from attnexp.architectures.contract import draw_sequences
from attnexp.architectures.pooling import Pooling
from attnexp.scores.average import Average
from attnexp.scores.scaled_dot import ScaledDot


@pytest.fixture
def model():
    torch.manual_seed(0)
    spec, _ = draw_sequences()
    return Pooling(spec, ScaledDot, dim=6, heads=2, ff_dim=7).eval()


def test_the_formula(model):
    _, batch = draw_sequences()
    prediction = model(batch, need_weights=True)
    E, attention = model.embed_source(batch.keys), model.attention
    values = attention.W_v(E).unflatten(-1, (2, 3)).transpose(1, 2)
    heads = prediction.weights["cross"].squeeze(1) @ values
    context = attention.W_o(heads.transpose(1, 2).flatten(-2))
    expected = model.W_2(torch.relu(model.W_1(context)))
    torch.testing.assert_close(prediction.outputs, expected)


def test_the_source_is_a_set(model):
    _, batch = draw_sequences()
    turned = batch.keys[:, [1, 0, 2, 3, 4, 5, 6]]
    other = batch.__class__(**{**vars(batch), "keys": turned, "values": turned})
    torch.testing.assert_close(model(other).outputs, model(batch).outputs)


def test_equal_weights_answer_all_queries_alike():
    spec, batch = draw_sequences()
    outputs = Pooling(spec, Average)(batch).outputs
    torch.testing.assert_close(outputs, outputs[:, :1].expand_as(outputs))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dim": 6, "heads": 4}, "dim must be a multiple of heads, got dim 6 and heads 4"),
        ({"ff_dim": 0}, "ff_dim must be greater than 0, got 0"),
        ({"dropout": 1.0}, "dropout"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    spec, _ = draw_sequences()
    with pytest.raises(ValueError, match=message):
        Pooling(spec, ScaledDot, **settings)
