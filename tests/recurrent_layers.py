"""PyTorch's own recurrent layers, as oracles of ours."""

import torch
from torch import nn

from attnexp.architectures.cells import Gru, Lstm

LIBRARY = {Gru: nn.GRU, Lstm: nn.LSTM}


def copy_weights(cell, library, suffix=""):
    """The cell, with the weights of a layer of nn.GRU or nn.LSTM."""
    with torch.no_grad():
        for ours, theirs in ((cell.W_x, "ih"), (cell.W_h, "hh")):
            ours.weight.copy_(getattr(library, f"weight_{theirs}_l0{suffix}"))
            ours.bias.copy_(getattr(library, f"bias_{theirs}_l0{suffix}"))
    return cell
