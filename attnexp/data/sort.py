"""Sorting, whose alignment depends on the symbols and not on their places."""

import torch
from jaxtyping import Int
from torch import Tensor

from attnexp.data.rearrangement import Rearrangement
from attnexp.data.sequences import PAD


class Sort(Rearrangement):
    """target = source in ascending order of the numbers that name the symbols.

    Equal symbols keep their order (the sort is stable), which makes the gold alignment unique. The
    answer does not show that order: a model that takes equal symbols in another order answers
    correctly, and its alignment still counts as wrong.

    Example:
        source     3 1 4 1 5
        target     1 1 3 4 5
        alignment  1 3 0 2 4 -1

    Settings and errors: see `Rearrangement`.
    """

    def places(
        self, source: Int[Tensor, "examples length"], lengths: Int[Tensor, "examples 1"]
    ) -> Int[Tensor, "examples length"]:
        last = torch.iinfo(source.dtype).max
        return source.masked_fill(source == PAD, last).argsort(dim=1, stable=True)
