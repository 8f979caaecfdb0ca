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
        return torch.arange(source.shape[1]).expand_as(source)
