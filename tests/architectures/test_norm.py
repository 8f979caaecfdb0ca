"""Stacks without LayerNorm, against sums of attention and feed-forward written out for one head."""

import math

import pytest
import torch
from torch import nn

from attnexp.architectures.bottleneck import Bottleneck
from attnexp.architectures.contract import draw_sequences
from attnexp.architectures.decoder_only import DecoderOnly
from attnexp.architectures.positions.none import NoPositions
from attnexp.architectures.transformer import Transformer
from attnexp.scores.scaled_dot import ScaledDot

DIM, LENGTHS = 6, (7, 4, 2)
SIZES = {"layers": 2, "heads": 1, "dim": DIM, "ff_dim": 7, "positions": NoPositions}


def build(kind, **settings):
    torch.manual_seed(0)
    spec, batch = draw_sequences()
    return kind(spec, ScaledDot, **SIZES, **settings).double().eval(), batch


def attended(attention, x, keys, causal=False):
    """W_o times the softmax average of the values, one query at a time."""
    rows = []
    for place, query in enumerate(x):
        seen = keys[: place + 1] if causal else keys
        scores = [
            (attention.W_q.weight @ query) @ (attention.W_k.weight @ key) / math.sqrt(DIM)
            for key in seen
        ]
        weights = torch.stack(scores).exp()
        values = torch.stack([attention.W_v.weight @ key for key in seen])
        rows.append(attention.W_o.weight @ (weights / weights.sum() @ values))
    return torch.stack(rows)


def fed(second, x):
    return x + second.W_2(second.W_1(x).clamp(min=0))


def stacked(layers, x, causal):
    for layer in layers:
        x = x + attended(layer.own, x, x, causal)
        x = fed(layer.feed_forward, x)
    return x


@torch.no_grad()
def test_decoder_only_is_a_sum_of_its_parts():
    model, batch = build(DecoderOnly, norm=False)
    found = model(batch).outputs
    for row, length in enumerate(LENGTHS):
        ids = torch.cat([batch.keys[row, :length], batch.queries[row]])
        x = stacked(model.layers, model.embed.weight[ids] * math.sqrt(DIM), causal=True)
        torch.testing.assert_close(found[row], x[length:] @ model.embed.weight.T)


@torch.no_grad()
def test_the_transformer_is_a_sum_of_its_parts():
    model, batch = build(Transformer, norm=False)
    found = model(batch).outputs
    for row, length in enumerate(LENGTHS):
        source = model.embed_source.weight[batch.keys[row, :length]]
        source = stacked(model.encoder, source, causal=False)
        x = model.embed_target.weight[batch.queries[row]]
        for layer in model.decoder:
            x = x + attended(layer.own, x, x, causal=True)
            x = x + attended(layer.cross, x, source)
            x = fed(layer.feed_forward, x)
        torch.testing.assert_close(found[row], x @ model.W_o.weight.T + model.W_o.bias)


@torch.no_grad()
def test_the_bottleneck_is_a_sum_of_its_parts():
    model, batch = build(Bottleneck, norm=False)
    found = model.encode(batch.keys, batch.mask).vector
    for row, length in enumerate(LENGTHS):
        x = stacked(model.layers, model.embed.weight[batch.keys[row, :length]], causal=True)
        torch.testing.assert_close(found[row], x[-1])


@pytest.mark.parametrize("kind", [DecoderOnly, Transformer, Bottleneck])
@pytest.mark.parametrize(("norm", "there"), [(None, True), (True, True), (False, False)])
def test_only_false_leaves_layer_norm_out(kind, norm, there):
    model, _ = build(kind, norm=norm)
    assert any(isinstance(module, nn.LayerNorm) for module in model.modules()) == there
