"""Recurrent layers against PyTorch's own, and against padding."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attnexp.architectures.recurrent import (
    BothWays,
    Encoder,
    Gru,
    Lstm,
    OneWay,
    cell_named,
    reversed_within,
)

LIBRARY = {Gru: nn.GRU, Lstm: nn.LSTM}
LENGTHS = torch.tensor([7, 2, 5])


def copy_weights(cell, library, suffix=""):
    """The cell, with the weights of a layer of nn.GRU or nn.LSTM."""
    with torch.no_grad():
        for ours, theirs in ((cell.W_x, "ih"), (cell.W_h, "hh")):
            ours.weight.copy_(getattr(library, f"weight_{theirs}_l0{suffix}"))
            ours.bias.copy_(getattr(library, f"bias_{theirs}_l0{suffix}"))
    return cell


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
    outputs, state = layer(inputs, LENGTHS)
    valid = torch.arange(7) < LENGTHS[:, None]
    torch.testing.assert_close(outputs[valid], expected[valid])
    torch.testing.assert_close(state, final_state(final)[0])


def test_gradients_are_those_of_pytorch(cell, inputs):
    library = LIBRARY[cell](5, 11, batch_first=True).double()
    ours = copy_weights(cell(5, 11).double(), library)
    theirs = inputs.clone().requires_grad_()
    inputs.requires_grad_()
    factors = torch.randn(3, 7, 11, dtype=torch.float64)
    (ours.output(ours.scan(inputs)) * factors).sum().backward()
    (library(theirs)[0] * factors).sum().backward()
    torch.testing.assert_close(inputs.grad, theirs.grad)
    for linear, kind in ((ours.W_x, "ih"), (ours.W_h, "hh")):
        torch.testing.assert_close(linear.weight.grad, getattr(library, f"weight_{kind}_l0").grad)
        torch.testing.assert_close(linear.bias.grad, getattr(library, f"bias_{kind}_l0").grad)


def test_both_ways_merge_the_packed_layers_of_pytorch(cell, inputs):
    library = LIBRARY[cell](5, 11, batch_first=True, bidirectional=True).double()
    layer = BothWays(cell, 5, 11).double()
    copy_weights(layer.left_to_right.cell, library)
    copy_weights(layer.right_to_left.cell, library, "_reverse")
    packed = pack_padded_sequence(inputs, LENGTHS, batch_first=True, enforce_sorted=False)
    expected, finals = library(packed)
    expected, _ = pad_packed_sequence(expected, batch_first=True)
    outputs, state = layer(inputs, LENGTHS)
    valid = torch.arange(7) < LENGTHS[:, None]
    merged = expected @ layer.merge_outputs.weight.T + layer.merge_outputs.bias
    torch.testing.assert_close(outputs[valid], merged[valid])
    both = torch.cat(tuple(final_state(finals)), dim=-1)
    torch.testing.assert_close(
        state, torch.tanh(both @ layer.merge_finals.weight.T + layer.merge_finals.bias)
    )


def test_reversed_within_leaves_padding_behind():
    rows = torch.tensor([[1.0, 2.0, 3.0, 8.0, 9.0], [1.0, 2.0, 3.0, 4.0, 5.0]]).unsqueeze(-1)
    mirrored = reversed_within(rows, torch.tensor([3, 5])).squeeze(-1)
    assert mirrored[0, :3].tolist() == [3.0, 2.0, 1.0]
    assert sorted(mirrored[0, 3:].tolist()) == [8.0, 9.0]
    assert mirrored[1].tolist() == [5.0, 4.0, 3.0, 2.0, 1.0]


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("name", ["gru", "lstm"])
def test_no_gradient_comes_from_padding(name, bidirectional, inputs):
    encoder = Encoder(name, 5, 11, layers=3, bidirectional=bidirectional, dropout=0.0).double()
    inputs.requires_grad_()
    valid = torch.arange(7) < LENGTHS[:, None]
    outputs, finals = encoder(inputs, LENGTHS)
    assert len(finals) == 3
    (outputs[valid].square().sum() + sum(final.square().sum() for final in finals)).backward()
    assert inputs.grad[~valid].eq(0).all()
    assert inputs.grad[valid].ne(0).all()


def test_an_unknown_cell_is_refused():
    with pytest.raises(ValueError, match="cell must be one of gru, lstm, got 'rnn'"):
        cell_named("rnn")
