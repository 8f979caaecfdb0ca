"""Sorting, whose alignment depends on the symbols and not on their places."""

import torch
from jaxtyping import Int
from torch import Tensor

from attnexp.data.rearrangement import Rearrangement
from attnexp.data.sequences import PAD


class Sort(Rearrangement):
    """target = source in ascending order of the numbers that name the symbols.

    Equal symbols keep their order (the sort is stable), which makes the gold alignment unique.
    The answer does not show that order: a model that takes equal symbols in another order answers
    correctly and still counts as looking in the wrong place.

    Example:
        source     3 1 4 1 5
        target     1 1 3 4 5
        alignment  1 3 0 2 4 -1

    Settings and errors: see `Rearrangement`.
    """

    def __init__(
        self,
        generator: torch.Generator,
        num_train: int = 10_000,
        num_validation: int = 500,
        num_test: int = 500,
        min_length: int = 3,
        max_length: int = 10,
        vocab_size: int = 20,
        test_min_length: int | None = None,
        test_max_length: int | None = None,
    ) -> None:
        super().__init__(
            generator,
            num_train,
            num_validation,
            num_test,
            min_length,
            max_length,
            vocab_size,
            test_min_length,
            test_max_length,
        )

    def places(
        self, source: Int[Tensor, "examples length"], lengths: Int[Tensor, "examples 1"]
    ) -> Int[Tensor, "examples length"]:
        last = torch.iinfo(source.dtype).max
        return source.masked_fill(source == PAD, last).argsort(dim=1, stable=True)
