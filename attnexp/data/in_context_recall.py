"""In-context recall of mechanistic architecture design."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attnexp.data.repeated_pairs import (
    RepeatedPairs,
    check_even_length,
    one_symbol_pairs,
)


class InContextRecall(RepeatedPairs):
    """k v k v ..., with a map from key to value for each example; due are the values told before.

    In-context recall of Poli et al. (2024), "Mechanistic Design and Scaling of Hybrid
    Architectures", and mad/data/instances.py of athms/mad-lab, with several queries. A
    sequence of `length` symbols has length / 2 pairs. Each key is uniform over the keys, but the
    last one is uniform over the different keys before it, so that an example has an answer. The
    value of a key is uniform over the values. Of `vocab_size` symbols half are keys (k0, k1, ...)
    and the others values (0, 1, ...); the special symbols come on top. An answer is due at every
    key that came before, and is the next symbol of the queries.

    The published axes of difficulty are `vocab_size` (16; 32, 64, 128), `length` (128; 256, 512,
    1,024) and `num_train` (12,800; 6,400, 3,200, 1,600, 800), each changed alone. The data differ
    from the code: there the loss of training is on every next symbol, here on the answers alone;
    there is no validation set; and the sets are not kept apart. Results in print are the best of a
    grid of six settings of the optimizer, chosen by the test set, at one seed.

    There is no gold alignment: the value is told in the decoder's own input, see `RepeatedPairs`.

    Example of length 8, as source, queries and targets:
        source   <eos>
        queries  k5 2 k0 7 k5 2 k0
        target   2 7

    Raises ValueError for a set without examples, an odd length or one below 4, fewer than two
    symbols, and more examples than are found.
    """

    def __post_init__(self, generator: torch.Generator) -> None:
        check_even_length(self.length)
        super().__post_init__(generator)

    def draw(
        self, examples: int, generator: torch.Generator
    ) -> tuple[Int[Tensor, "examples length"], Bool[Tensor, "examples length"]]:
        noise = torch.zeros(examples, self.length // 2, dtype=torch.bool)
        return one_symbol_pairs(noise, self.num_keys, self.num_values, generator)
