"""Copying symbols that are all different, such as permutations."""

from collections.abc import Sequence

import torch

from attnexp.core.batch import Batch
from attnexp.data.copy import Copy
from attnexp.data.sequences import Drawn, Families, arrangements, arranging


class CopyDistinct(Copy):
    """target[t] = source[t], with no symbol twice in a source.

    Snell et al. (2021), "Approximating how single head attention learns", copy permutations: with
    `min_length` = `max_length` = `vocab_size` each source has every symbol once, so that the set of
    its symbols says nothing about a source. With fewer symbols out of `vocab_size` it does.

    Example:
        source     3 1 4 0 5
        target     3 1 4 0 5
        alignment  0 1 2 3 4 -1

    Settings and errors: see `Rearrangement`. Raises ValueError for lengths above `vocab_size`, too.
    """

    def families(self, numbers: Sequence[int]) -> Families:
        vocab_size = self.vocab_size
        if numbers[-1] > vocab_size:
            raise ValueError(
                f"vocab_size must be at least {numbers[-1]}, the largest length, because all "
                f"symbols of a source are different, got {vocab_size}"
            )
        return Families(
            {length: arranging(vocab_size, length) for length in numbers},
            f"lengths {numbers[0]} to {numbers[-1]} over {vocab_size} different symbols",
        )

    def batch_of(self, drawn: Drawn, generator: torch.Generator) -> Batch:
        arranged = {length: arrangements(block) for length, block in drawn.items()}
        return super().batch_of(arranged, generator)
