"""One step of a cell against PyTorch's own."""

import pytest
import torch
from torch import nn

from attnexp.architectures.recurrence.cells import Gru, Lstm, cell_named

LIBRARY = {Gru: nn.GRUCell, Lstm: nn.LSTMCell}


@pytest.mark.parametrize("kind", LIBRARY)
def test_a_step_is_that_of_pytorch(kind):
    torch.manual_seed(1)
    library, cell = LIBRARY[kind](5, 11).double(), kind(5, 11).double()
    with torch.no_grad():
        for ours, theirs in ((cell.W_x, "ih"), (cell.W_h, "hh")):
            ours.weight.copy_(getattr(library, f"weight_{theirs}"))
            ours.bias.copy_(getattr(library, f"bias_{theirs}"))
    inputs = torch.randn(3, 5, dtype=torch.float64)
    state = torch.randn(3, cell.state_dim, dtype=torch.float64)
    parts = state.split(11, dim=-1)
    expected = library(inputs, parts[0] if len(parts) == 1 else parts)
    expected = expected if isinstance(expected, torch.Tensor) else torch.cat(expected, dim=-1)
    torch.testing.assert_close(cell.step(cell.W_x(inputs), state), expected)


def test_an_unknown_cell_is_refused():
    with pytest.raises(ValueError, match="cell must be one of gru, lstm, got 'rnn'"):
        cell_named("rnn")
