"""In-context recall of keys and values of several symbols."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attnexp.data.repeated_pairs import RepeatedPairs, check_vocab_size, first_places
from attnexp.data.sequences import FIRST, PAD, arrangements, arranging, check_positive


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

    def __init__(
        self,
        generator: torch.Generator,
        num_train: int = 12_800,
        num_validation: int = 500,
        num_test: int = 1_280,
        length: int = 128,
        vocab_size: int = 15,
        key_size: int = 3,
        value_size: int = 3,
    ) -> None:
        check_positive("key_size", key_size)
        check_positive("value_size", value_size)
        check_vocab_size(vocab_size)
        num_keys, num_values = vocab_size // 2, vocab_size - vocab_size // 2
        if num_keys < key_size or num_values < value_size:
            raise ValueError(
                f"vocab_size must give {key_size} symbols of keys and {value_size} of values, "
                f"because those of a key or a value are all different, got {vocab_size}, which "
                f"gives {num_keys} and {num_values}"
            )
        if length < 2 * (key_size + value_size):
            raise ValueError(
                f"length must be at least {2 * (key_size + value_size)}, because a pair of up to "
                f"{key_size + value_size} symbols must come again, got {length}"
            )
        self._length, self._num_keys, self._num_values = length, num_keys, num_values
        self._key_size, self._value_size = key_size, value_size
        super().__init__(
            generator, (num_train, num_validation, num_test), length, num_keys, num_values
        )

    def draw(
        self, examples: int, generator: torch.Generator
    ) -> tuple[Int[Tensor, "examples length"], Bool[Tensor, "examples length"]]:
        room = self._length - self._key_size - self._value_size
        shape = (examples, room // 2)
        keys = _motifs(shape, FIRST, self._num_keys, self._key_size, generator)
        values = _motifs(
            shape, FIRST + self._num_keys, self._num_values, self._value_size, generator
        )
        place = torch.arange(shape[1])
        powers = (FIRST + self._num_keys) ** torch.arange(self._key_size)
        first = first_places((keys * powers).sum(dim=-1))
        pairs = torch.cat([keys, values.take_along_dim(first[..., None], dim=1)], dim=-1)
        fits = (pairs != PAD).sum(dim=-1).cumsum(dim=1) <= room
        new = fits & (first == place)
        last = torch.multinomial(new.double(), 1, generator=generator)
        again = torch.cat([first < place, torch.ones_like(last, dtype=torch.bool)], dim=1)
        pairs = torch.cat([pairs, pairs.take_along_dim(last[..., None], dim=1)], dim=1)
        there = torch.cat([fits, torch.ones_like(last, dtype=torch.bool)], dim=1)
        symbols = pairs.where(there[..., None], PAD)
        repeats = again[..., None] & (torch.arange(pairs.shape[-1]) >= self._key_size)
        symbols, repeats = symbols.flatten(1), repeats.expand_as(symbols).flatten(1)
        order = (symbols == PAD).long().argsort(dim=1, stable=True)[:, : self._length]
        symbols = symbols.gather(1, order)
        return symbols, repeats.gather(1, order) & (symbols != PAD)


def _motifs(
    shape: tuple[int, int], lowest: int, symbols: int, most: int, generator: torch.Generator
) -> Int[Tensor, "examples pairs most"]:
    """Return lists of 1 to `most` different ids from `lowest` on, PAD behind short ones."""
    digits = [
        torch.randint(radix, shape, generator=generator) for radix in arranging(symbols, most)
    ]
    ids = lowest + arrangements(torch.stack(digits, dim=-1).flatten(0, 1)).view(*shape, most)
    sizes = torch.randint(1, most + 1, (*shape, 1), generator=generator)
    return ids.where(torch.arange(most) < sizes, PAD)
