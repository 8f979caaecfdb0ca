"""In-context recall of keys and values of several symbols."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attnexp.data.repeated_pairs import RepeatedPairs, first_places
from attnexp.data.sequences import FIRST, PAD, arrangements, arranging, check_least, check_positive


@dataclass(eq=False, repr=False)
class FuzzyRecall(RepeatedPairs):
    """Keys and values of one to a few symbols each; due are all symbols of the values told before.

    Fuzzy in-context recall of Poli et al. (2024), "Mechanistic Design and Scaling of Hybrid
    Architectures", and mad/data/instances.py of athms/mad-lab, with several queries. A
    key has 1 to `key_size` symbols and a value 1 to `value_size`: the sizes are uniform, and so are
    the lists of different symbols of a size. Pairs follow each other without a separator as long as
    they leave key_size + value_size of `length` symbols; the last pair is uniform over the
    different pairs before it, so that an example has an answer. Of `vocab_size` symbols half,
    rounded down, are in keys (k0, k1, ...) and the others in values (0, 1, ...); the special
    symbols come on top. A value that was told before is due symbol by symbol, each one at the
    symbol before it.

    The published axes of difficulty are `vocab_size` (15; 31, 63, 127, and in the code one more,
    for padding), `length` (128; 256, 512, 1,024) and `num_train` (12,800; 6,400, 3,200, 1,600,
    800), each changed alone; `key_size` and `value_size` are 3 throughout. The data differ from the
    code as in `InContextRecall`, and in two more ways: there all keys of the test set have
    `key_size` symbols, and padding comes first. Results in print are the best of a grid of six
    settings of the optimizer, chosen by the test set, at one seed.

    There is no gold alignment: the value is told in the decoder's own input, see `RepeatedPairs`.

    Example of length 12 with sizes up to 2, as source, queries and targets:
        source   <eos>
        queries  k5 2 k0 7 3 k5 2 k0 7
        target   2 7 3

    Raises ValueError for a set without examples, sizes below 1, a length below that of two pairs of
    the largest sizes, fewer symbols of keys or values than the sizes, and more examples than are
    found.
    """

    vocab_size: int = 15
    key_size: int = 3
    value_size: int = 3

    def __post_init__(self, generator: torch.Generator) -> None:
        check_positive("key_size", self.key_size)
        check_positive("value_size", self.value_size)
        if self.num_keys < self.key_size or self.num_values < self.value_size:
            raise ValueError(
                f"vocab_size must give {self.key_size} symbols of keys and {self.value_size} of "
                "values, because those of a key or a value are all different, got "
                f"{self.vocab_size}, which gives {self.num_keys} and {self.num_values}"
            )
        pair = self.key_size + self.value_size
        why = f"a pair of up to {pair} symbols must come again"
        check_least("length", self.length, 2 * pair, why)
        super().__post_init__(generator)

    def draw(
        self, examples: int, generator: torch.Generator
    ) -> tuple[Int[Tensor, "examples length"], Bool[Tensor, "examples length"]]:
        room = self.length - self.key_size - self.value_size
        shape = (examples, room // 2)
        keys = _motifs(shape, FIRST, self.num_keys, self.key_size, generator)
        values = _motifs(shape, FIRST + self.num_keys, self.num_values, self.value_size, generator)
        place = torch.arange(shape[1])
        powers = (FIRST + self.num_keys) ** torch.arange(self.key_size)
        first = first_places((keys * powers).sum(dim=-1))
        pairs = torch.cat([keys, values.take_along_dim(first[..., None], dim=1)], dim=-1)
        fits = (pairs != PAD).sum(dim=-1).cumsum(dim=1) <= room
        new = fits & (first == place)
        last = torch.multinomial(new.double(), 1, generator=generator)
        again = torch.cat([first < place, torch.ones_like(last, dtype=torch.bool)], dim=1)
        pairs = torch.cat([pairs, pairs.take_along_dim(last[..., None], dim=1)], dim=1)
        there = torch.cat([fits, torch.ones_like(last, dtype=torch.bool)], dim=1)
        symbols = pairs.where(there[..., None], PAD)
        repeats = again[..., None] & (torch.arange(pairs.shape[-1]) >= self.key_size)
        symbols, repeats = symbols.flatten(1), repeats.expand_as(symbols).flatten(1)
        order = (symbols == PAD).long().argsort(dim=1, stable=True)[:, : self.length]
        symbols = symbols.gather(1, order)
        return symbols, repeats.gather(1, order) & (symbols != PAD)


def _motifs(
    shape: tuple[int, int], lowest: int, symbols: int, most: int, generator: torch.Generator
) -> Int[Tensor, "examples pairs most"]:
    """Return lists of 1 to `most` different ids from `lowest` on, padded with PAD."""
    digits = [
        torch.randint(radix, shape, generator=generator) for radix in arranging(symbols, most)
    ]
    ids = lowest + arrangements(torch.stack(digits, dim=-1).flatten(0, 1)).view(*shape, most)
    sizes = torch.randint(1, most + 1, (*shape, 1), generator=generator)
    return ids.where(torch.arange(most) < sizes, PAD)
