"""Copying, whose alignment is the order of reading."""

import torch
from jaxtyping import Int
from torch import Tensor

from attnexp.data.rearrangement import Rearrangement


class Copy(Rearrangement):
    """target[t] = source[t].

    Example:
        source     3 1 4 1 5
        target     3 1 4 1 5
        alignment  0 1 2 3 4 -1

    Settings and errors: see `Rearrangement`.
    """

    def places(
        self, source: Int[Tensor, "examples length"], lengths: Int[Tensor, "examples 1"]
    ) -> Int[Tensor, "examples length"]:
        return torch.arange(source.shape[1]).expand_as(source)
