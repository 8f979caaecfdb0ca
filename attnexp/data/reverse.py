"""Reversing, whose alignment runs against the order of reading."""

import torch
from jaxtyping import Int
from torch import Tensor

from attnexp.data.rearrangement import Rearrangement


class Reverse(Rearrangement):
    """target[t] = source[n - 1 - t], n the length of the source without its end symbol.

    Example:
        source     3 1 4 1 5
        target     5 1 4 1 3
        alignment  4 3 2 1 0 -1

    Settings and errors: see `Rearrangement`.
    """

    def places(
        self, source: Int[Tensor, "examples length"], lengths: Int[Tensor, "examples 1"]
    ) -> Int[Tensor, "examples length"]:
        return lengths - 1 - torch.arange(source.shape[1])
