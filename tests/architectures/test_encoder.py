"""Recurrent layers against PyTorch's own, and against padding."""

import pytest
import torch
from library_layers import LIBRARY, copy_weights
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attnexp.architectures.encoder import BothWays, EmbeddedRows, Encoder, OneWay
from attnexp.attention.dropout import Dropout

LENGTHS = torch.tensor([7, 2, 5])


def final_state(library_final):
    """[h] or [h; c], (batch, state_dim) for each direction."""
    parts = library_final if isinstance(library_final, tuple) else (library_final,)
    return torch.cat(parts, dim=-1)


@pytest.fixture(params=LIBRARY)
def cell(request):
    torch.manual_seed(1)
    return request.param


@pytest.fixture
def inputs():
    return torch.randn(3, 7, 5, dtype=torch.float64)


def test_one_way_is_the_packed_layer_of_pytorch(cell, inputs):
    library = LIBRARY[cell](5, 11, batch_first=True).double()
    layer = OneWay(cell, 5, 11).double()
    copy_weights(layer.cell, library)
    packed = pack_padded_sequence(inputs, LENGTHS, batch_first=True, enforce_sorted=False)
    expected, final = library(packed)
    expected, _ = pad_packed_sequence(expected, batch_first=True)
    outputs, state = layer(EmbeddedRows.of(inputs), LENGTHS)
    valid = torch.arange(7) < LENGTHS[:, None]
    torch.testing.assert_close(outputs[valid], expected[valid])
    torch.testing.assert_close(state, final_state(final)[0])


def test_both_ways_merge_the_packed_layers_of_pytorch(cell, inputs):
    library = LIBRARY[cell](5, 11, batch_first=True, bidirectional=True).double()
    layer = BothWays(cell, 5, 11).double()
    copy_weights(layer.left_to_right.cell, library)
    copy_weights(layer.right_to_left.cell, library, "_reverse")
    packed = pack_padded_sequence(inputs, LENGTHS, batch_first=True, enforce_sorted=False)
    expected, finals = library(packed)
    expected, _ = pad_packed_sequence(expected, batch_first=True)
    outputs, state = layer(EmbeddedRows.of(inputs), LENGTHS)
    valid = torch.arange(7) < LENGTHS[:, None]
    merged = expected @ layer.merge_outputs.weight.T + layer.merge_outputs.bias
    torch.testing.assert_close(outputs[valid], merged[valid])
    both = torch.cat(tuple(final_state(finals)), dim=-1)
    torch.testing.assert_close(
        state, torch.tanh(both @ layer.merge_finals.weight.T + layer.merge_finals.bias)
    )


@pytest.mark.parametrize("symbols", [4, 40])
def test_a_layer_of_symbols_is_that_of_their_embeddings(symbols):
    """Through the table where it is small, and through the embeddings where they are few."""
    torch.manual_seed(0)
    embedding, W = nn.Embedding(symbols, 5).double(), nn.Linear(5, 6).double()
    ids = torch.randint(symbols, (3, 7))
    rows = EmbeddedRows.of_symbols(embedding, ids, Dropout(0.0)).through(W)
    assert len(rows.table) == min(symbols, 21)
    torch.testing.assert_close(rows.vectors(), W(embedding(ids)))


def test_dropout_draws_for_each_symbol_anew():
    embedding, dropout = nn.Embedding(1, 40), Dropout(0.5)
    first, second = EmbeddedRows.of_symbols(
        embedding, torch.zeros(2, dtype=torch.int64), dropout
    ).vectors()
    assert not torch.equal(first == 0, second == 0)
    dropout.eval()
    assert (
        len(EmbeddedRows.of_symbols(embedding, torch.zeros(2, dtype=torch.int64), dropout).table)
        == 1
    )


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("name", ["gru", "lstm"])
def test_no_gradient_comes_from_padding(name, bidirectional, inputs):
    encoder = Encoder(name, 5, 11, layers=3, bidirectional=bidirectional, dropout=0.0).double()
    inputs.requires_grad_()
    valid = torch.arange(7) < LENGTHS[:, None]
    outputs, finals = encoder(EmbeddedRows.of(inputs), LENGTHS)
    assert len(finals) == 3
    (outputs[valid].square().sum() + sum(final.square().sum() for final in finals)).backward()
    assert inputs.grad[~valid].eq(0).all()
    assert inputs.grad[valid].ne(0).all()
