"""The transformer against PyTorch's own layers, with copied weights."""

from functools import partial

import pytest
import torch
from library_layers import copy_attention, copy_rest, randomised
from torch import nn

from attnexp.architectures.contract import draw_sequences
from attnexp.architectures.decoder_only import DecoderOnly
from attnexp.architectures.positions import Order
from attnexp.architectures.transformer import (
    DecoderLayer,
    FeedForward,
    SelfAttentionLayer,
    Transformer,
)
from attnexp.attention.multihead import MultiHead
from attnexp.core.masks import causal_mask
from attnexp.scores.scaled_dot import ScaledDot

DIM, HEADS, FF = 6, 2, 11
NO_ORDER = Order(None, None)


def parts_of(scored):
    """What a layer of ours is built of."""
    attention = partial(MultiHead, scored("scaled_dot"), DIM, DIM, DIM, DIM, HEADS, DIM // HEADS)
    return attention, partial(FeedForward, DIM, FF, 0.0), DIM, 0.0


@pytest.fixture
def sizes():
    torch.manual_seed(4)
    return {"dropout": 0.0, "batch_first": True, "norm_first": True}


@torch.no_grad()
def test_the_self_attention_layer_is_pytorchs_encoder_layer(scored, batch, sizes):
    ours = randomised(SelfAttentionLayer(*parts_of(scored)))
    theirs = nn.TransformerEncoderLayer(DIM, HEADS, FF, **sizes).double()
    copy_attention(theirs.self_attn, ours.own)
    copy_rest(theirs, ours, {"norm1": ours.own_norm, "norm2": ours.feed_forward.norm})
    x = torch.randn(3, 7, DIM, dtype=torch.float64)
    valid = batch.mask[:, 0]
    expected = theirs(x, src_key_padding_mask=~valid)
    for need_weights in (False, True):
        found, _, _ = ours(x, batch.mask, NO_ORDER, need_weights)
        torch.testing.assert_close(found[valid], expected[valid])


@torch.no_grad()
def test_the_decoder_layer_is_that_of_pytorch(scored, batch, sizes):
    ours = randomised(DecoderLayer(*parts_of(scored)))
    theirs = nn.TransformerDecoderLayer(DIM, HEADS, FF, **sizes).double()
    copy_attention(theirs.self_attn, ours.own)
    copy_attention(theirs.multihead_attn, ours.cross)
    norms = {"norm1": ours.own_norm, "norm2": ours.cross_norm, "norm3": ours.feed_forward.norm}
    copy_rest(theirs, ours, norms)
    x = torch.randn(3, 5, DIM, dtype=torch.float64)
    encoded = torch.randn(3, 7, DIM, dtype=torch.float64)
    future = ~torch.ones(5, 5, dtype=torch.bool).tril()
    expected = theirs(x, encoded, tgt_mask=future, memory_key_padding_mask=~batch.mask[:, 0])
    source = ours.cross.remember(encoded, encoded, batch.mask)
    causal = causal_mask(5, x.device)
    for need_weights in (False, True):
        torch.testing.assert_close(ours(x, source, causal, NO_ORDER, need_weights)[0], expected)


@pytest.mark.parametrize("kind", [Transformer, DecoderOnly])
def test_without_skip_connections_a_part_replaces_its_input(kind):
    """A layer whose attention gives nothing leaves nothing, and with them its input."""
    spec, batch = draw_sequences()
    settings = {"layers": 1, "heads": 1, "dim": 4, "ff_dim": 4}
    for residual in (True, False):
        model = kind(spec, ScaledDot, residual=residual, **settings)
        (layer,) = model.encoder if kind is Transformer else model.layers
        with torch.no_grad():
            layer.own.W_o.weight.zero_()
            layer.feed_forward.W_2.weight.zero_()
            layer.feed_forward.W_2.bias.zero_()
        x = torch.randn(3, 5, 4)
        out, _, _ = layer(x, None, Order(None, None))
        torch.testing.assert_close(out, x if residual else torch.zeros_like(x))
        assert model(batch).outputs.isfinite().all()
