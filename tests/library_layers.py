"""PyTorch's own layers, as oracles of ours."""

import torch
from torch import nn

from attnexp.architectures.recurrence.cells import Gru, Lstm

LIBRARY = {Gru: nn.GRU, Lstm: nn.LSTM}


def copy_weights(cell, library, suffix=""):
    """The cell, with the weights of a layer of nn.GRU or nn.LSTM."""
    with torch.no_grad():
        for ours, theirs in ((cell.W_x, "ih"), (cell.W_h, "hh")):
            ours.weight.copy_(getattr(library, f"weight_{theirs}_l0{suffix}"))
            ours.bias.copy_(getattr(library, f"bias_{theirs}_l0{suffix}"))
    return cell


def copy_attention(theirs, ours):
    """Give nn.MultiheadAttention the weights of MultiHead, and no biases."""
    theirs.in_proj_weight.copy_(torch.cat([ours.W_q.weight, ours.W_k.weight, ours.W_v.weight]))
    theirs.in_proj_bias.zero_()
    theirs.out_proj.weight.copy_(ours.W_o.weight)
    theirs.out_proj.bias.zero_()


def copy_rest(theirs, ours, norms):
    for name, norm in norms.items():
        getattr(theirs, name).load_state_dict(norm.state_dict())
    theirs.linear1.load_state_dict(ours.feed_forward.W_1.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.W_2.state_dict())


def randomised(layer):
    """The layer with all parameters random, also those of the norms, which start at 1 and 0."""
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.5)
    return layer.double()
