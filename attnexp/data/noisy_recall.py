"""In-context recall among noise."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attnexp.data.repeated_pairs import (
    RepeatedPairs,
    check_even_length,
    one_symbol_pairs,
)
from attnexp.data.sequences import FIRST, PAD, check_positive, numbered


@dataclass(eq=False, repr=False)
class NoisyRecall(RepeatedPairs):
    """k v n n k v ..., with noise between the pairs; due are the values told before.

    Noisy in-context recall of Poli et al. (2024), "Mechanistic Design and Scaling of Hybrid
    Architectures", and mad/data/instances.py of athms/mad-lab, with several queries: a
    sequence as in `InContextRecall`, with `length` / 2 slots, each of which is a pair or two
    symbols of noise. A slot is noise with probability `noise_share`; the last one never is, and
    neither is one of the others, drawn at random. Symbols of noise (n0, n1, ...) are uniform over
    `noise_vocab_size` of their own, which are not among the `vocab_size` symbols of keys and
    values, and nothing is due at them.

    The published axes of difficulty are `vocab_size` (16; 32, 64, 128, each with 16 symbols of
    noise, which the code counts with the others), `length` (128; 256, 512, 1,024), `num_train`
    (12,800; 6,400, 3,200, 1,600, 800) and `noise_share` (0.2; 0.4, 0.6, 0.8), each changed alone.
    The data differ from the code as in `InContextRecall`. Results in print are the best of a grid
    of six settings of the optimizer, chosen by the test set, at one seed.

    There is no gold alignment: the value is told in the decoder's own input, see `RepeatedPairs`.

    Example of length 10, as source, queries and targets:
        source   <eos>
        queries  k5 2 n3 n9 k0 7 k0 7 k5
        target   7 2

    Raises ValueError for a set without examples, an odd length or one below 4, fewer than two
    symbols, no symbol of noise, a share below 0 or not below 1, and more examples than are found.
    """

    noise_vocab_size: int = 16
    noise_share: float = 0.2

    def __post_init__(self, generator: torch.Generator) -> None:
        check_even_length(self.length)
        check_positive("noise_vocab_size", self.noise_vocab_size)
        if not 0 <= self.noise_share < 1:
            raise ValueError(f"noise_share must be at least 0 and below 1, got {self.noise_share}")
        super().__post_init__(generator)

    def symbols(self) -> list[str]:
        return [*super().symbols(), *numbered(self.noise_vocab_size, "n{}".format)]

    def draw(
        self, examples: int, generator: torch.Generator
    ) -> tuple[Int[Tensor, "examples length"], Bool[Tensor, "examples length"]]:
        slots = self.length // 2
        noise = torch.rand(examples, slots, generator=generator) < self.noise_share
        noise[:, -1] = False
        free = torch.randint(slots - 1, (examples, 1), generator=generator)
        noise = noise.scatter(1, free, False)
        rows, repeats = one_symbol_pairs(noise, self.num_keys, self.num_values, generator)
        drawn = torch.randint(self.noise_vocab_size, rows.shape, generator=generator)
        symbols = FIRST + self.num_keys + self.num_values + drawn
        return rows.where(rows != PAD, symbols), repeats
