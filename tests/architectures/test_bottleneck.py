"""The bottleneck: one vector of the source, and an MLP that reads places from it."""

import math
from dataclasses import replace

import pytest
import torch

from attnexp.architectures.bottleneck import Bottleneck
from attnexp.architectures.contract import draw_sequences
from attnexp.architectures.positions.learned import Learned
from attnexp.architectures.positions.none import NoPositions
from attnexp.scores.scaled_dot import ScaledDot


@pytest.fixture
def model():
    torch.manual_seed(0)
    spec, _ = draw_sequences()
    return Bottleneck(spec, ScaledDot, dim=6, heads=2, ff_dim=7).eval()


def position(place, dim):
    """Sinusoidal position by the definition, one number at a time."""
    angles = [place / 10000 ** (2 * (i // 2) / dim) for i in range(dim)]
    return [math.cos(a) if i % 2 else math.sin(a) for i, a in enumerate(angles)]


def test_the_answers_are_an_mlp_of_the_vector_and_the_place(model):
    _, batch = draw_sequences()
    outputs = model(batch).outputs
    vector = model.encode(batch.keys, batch.mask).vector
    assert vector.shape == (3, 6)
    for example in range(3):
        for place in range(5):
            x = vector[example] + torch.tensor(position(place, 6))
            inner = torch.relu(model.W_1.weight @ x + model.W_1.bias)
            inner = torch.relu(model.W_2.weight @ inner + model.W_2.bias)
            expected = model.W_3.weight @ inner + model.W_3.bias
            torch.testing.assert_close(outputs[example, place], expected)


def test_the_vector_is_that_of_pytorchs_layers():
    """A stack of nn.TransformerEncoderLayer with copied weights, on each source without padding."""
    torch.manual_seed(0)
    spec, batch = draw_sequences()
    model = Bottleneck(spec, ScaledDot, dim=6, heads=2, ff_dim=7).eval()
    theirs = []
    for layer in model.layers:
        other = torch.nn.TransformerEncoderLayer(
            6, 2, 7, dropout=0.0, batch_first=True, norm_first=True
        ).eval()
        own, second = layer.own, layer.feed_forward
        with torch.no_grad():
            projections = [own.W_q.weight, own.W_k.weight, own.W_v.weight]
            other.self_attn.in_proj_weight.copy_(torch.cat(projections))
            other.self_attn.in_proj_bias.zero_()
            other.self_attn.out_proj.weight.copy_(own.W_o.weight)
            other.self_attn.out_proj.bias.zero_()
        for target, source in (
            (other.norm1, layer.own_norm),
            (other.norm2, second.norm),
            (other.linear1, second.W_1),
            (other.linear2, second.W_2),
        ):
            target.load_state_dict(source.state_dict())
        theirs.append(other)
    vectors = model.encode(batch.keys, batch.mask).vector
    for example, length in enumerate((7, 4, 2)):
        x = model.embed(batch.keys[example, :length])
        x = x + torch.tensor([position(place, 6) for place in range(length)])
        x = x.unsqueeze(0)
        causal = torch.nn.Transformer.generate_square_subsequent_mask(length)
        for other in theirs:
            x = other(x, src_mask=causal, is_causal=True)
        weight, bias = model.norm.parameters()
        expected = torch.nn.functional.layer_norm(x[0, -1], (6,), weight, bias)
        torch.testing.assert_close(vectors[example], expected)


def test_queries_and_padding_are_not_read(model):
    _, batch = draw_sequences()
    outputs = model(batch).outputs
    other = replace(batch, queries=batch.queries.flip(0))
    assert torch.equal(model(other).outputs, outputs)
    padding = ~batch.mask.squeeze(1)
    filled = batch.keys.masked_fill(padding, 5)
    torch.testing.assert_close(model(replace(batch, keys=filled, values=filled)).outputs, outputs)


def test_every_symbol_before_the_last_reaches_the_vector(model):
    _, batch = draw_sequences()
    before = model.encode(batch.keys, batch.mask).vector
    for place in range(7):
        changed = batch.keys.clone()
        changed[0, place] = 3 + (changed[0, place] - 3 + 1) % 8
        after = model.encode(changed, batch.mask).vector
        assert not torch.allclose(after[0], before[0], atol=1e-4)
        assert torch.equal(after[1:], before[1:])


def test_cross_is_the_row_of_the_last_symbol(model):
    _, batch = draw_sequences()
    weights = model(batch, need_weights=True).weights
    assert weights["self"].shape == (3, 2, 2, 7, 7)
    assert weights["cross"].shape == (3, 2, 2, 5, 7)
    for example, last in enumerate((6, 3, 1)):
        for target in range(5):
            row = weights["self"][example, :, :, last]
            assert torch.equal(weights["cross"][example, :, :, target], row)
            assert (row[..., last + 1 :] == 0).all()


def test_answers_are_due_where_they_are_asked(model):
    _, batch = draw_sequences()
    asked = torch.tensor([[4, 0], [1, 2], [3, 3]])
    due = replace(
        batch, asked=asked, targets=batch.targets[:, :2], target_mask=batch.target_mask[:, :2]
    )
    prediction, whole = model(due, need_weights=True), model(batch).outputs
    assert prediction.weights["cross"].shape == (3, 2, 2, 2, 7)
    for example in range(3):
        torch.testing.assert_close(prediction.outputs[example], whole[example, asked[example]])


def test_learned_positions_refuse_longer_sources():
    spec, _ = draw_sequences()
    with pytest.raises(ValueError, match="9"):
        Bottleneck(replace(spec, test_max_source=9), ScaledDot, positions=Learned)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dim": 6, "heads": 4}, "dim must be a multiple of heads, got dim 6 and heads 4"),
        ({"layers": 0}, "layers must be greater than 0, got 0"),
        ({"ff_dim": 0}, "ff_dim must be greater than 0, got 0"),
        ({"dim": 5, "heads": 1, "positions": NoPositions}, "need an even dim, got 5"),
        ({"dropout": 1.0}, "dropout"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    spec, _ = draw_sequences()
    with pytest.raises(ValueError, match=message):
        Bottleneck(spec, ScaledDot, **settings)
