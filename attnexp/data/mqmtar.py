"""Multi-query associative recall of keys and values of several symbols."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from attnexp.core.batch import Batch
from attnexp.data.drawn import SequencesByLength
from attnexp.data.sequences import (
    FIRST,
    Drawn,
    Families,
    arrangements,
    arranging,
    check_positive,
    every_length,
    notes_on_lengths,
    numbered,
    sequence_batch,
    stack,
)

SPACE, COLON, QUESTION = range(FIRST, FIRST + 3)
LETTERS = FIRST + 3
MOST_WORDS = 2**31


@dataclass(eq=False, repr=False)
class MultiTokenRecall(SequencesByLength):
    """source = pairs k k : v v among spaces, then ? k k for each query; target = the values.

    Multi-query multi-token associative recall (MQMTAR) of Vasylenko et al. (2025), "Long-context
    generalization with sparse attention", after scripts/generate_data.py of deep-spin/asentmax,
    with the sizes of its README. A key has `key_size` symbols and a value `value_size`, all uniform
    over the same `alphabet` of symbols 0, 1, .... Keys may share symbols, but the keys of an
    example are all different, and so are its values. Context and queries are read one after the
    other. The context has `length` symbols,

        pairs = floor(pair_share * length / (key_size + value_size + 2)),

    because each pair has a colon and a space (.) behind it. The other spaces are shared among the
    gaps, all choices being equally likely. Each of the `num_queries` queries is uniform over the
    pairs, so that a key may be asked for twice. A source has length + num_queries * (key_size + 1)
    symbols. The gold alignment is the place of each symbol of a value.

    The data differ from the code: there keys and values are words out of two lists of 10,000 that
    are drawn once for each set; each pair has its own part of the context; each value of the
    target follows a separator; training has 50 million examples; and the sets are not kept apart.

    Lengths are `min_length` to `max_length`, in equal shares. The test set may have other lengths,
    `test_min_length` to `test_max_length`, or those in `test_lengths`. An end that is None is that
    of training. All lists of pairs are different, so the three sets are disjoint.

    Example of length 13 with `pair_share` 1 and two queries:
        source     . 7 3 : 1 1 . 3 7 : 2 0 . ? 3 7 ? 7 3
        target     2 0 1 1
        alignment  10 11 4 5 -1

    Raises ValueError for a set without examples, sizes below 1, a share outside 0 to 1, a length
    without a pair, fewer different keys or values than pairs, more than 2^31 of them, an empty
    range of lengths, `test_lengths` next to a range, and more examples than there are.
    """

    floors = ("exact_match",)

    num_train: int = 20_000
    min_length: int = 32
    max_length: int = 64
    alphabet: int = 256
    key_size: int = 2
    value_size: int = 2
    num_queries: int = 4
    pair_share: float = 0.8

    def __post_init__(self, generator: torch.Generator) -> None:
        trained, tested = self.lengths()
        for name in ("alphabet", "key_size", "value_size", "num_queries"):
            check_positive(name, getattr(self, name))
        if not 0 < self.pair_share <= 1:
            raise ValueError(f"pair_share must be above 0 and at most 1, got {self.pair_share}")
        self._unit = self.key_size + self.value_size + 2
        self._check_pairs(every_length(trained, tested))
        symbols = [".", ":", "?", *numbered(self.alphabet)]
        self.draw_sets(generator, trained, tested, symbols, symbols)
        asking = self.num_queries * (self.key_size + 1)
        contexts = (self.test.mask.sum(dim=-1) - 1 - asking).flatten().tolist()
        right = [self._pairs(length) ** -self.num_queries for length in contexts]
        self.notes = notes_on_lengths(tested, self.longest, "symbols of a context")
        self.chance = {"exact_match": sum(right) / len(right)}

    def _check_pairs(self, lengths: Sequence[int]) -> None:
        """Raise ValueError unless at every length the pairs fit and can all be different."""
        if not self._pairs(min(lengths)):
            raise ValueError(
                f"pair_share * length must be at least {self._unit}, the symbols of a pair, got "
                f"pair_share {self.pair_share} and length {min(lengths)}"
            )
        sizes = self.key_size, self.value_size
        fewest, most = (self.alphabet ** op(sizes) for op in (min, max))
        if not self._pairs(max(lengths)) <= fewest <= most <= MOST_WORDS:
            raise ValueError(
                f"alphabet must make {self._pairs(max(lengths))} to 2^31 different keys and "
                f"values, got {self.alphabet} symbols for {sizes[0]} and {sizes[1]} places"
            )

    def longest(self, number: int) -> int:
        return number + self.num_queries * (self.key_size + 1)

    def families(self, numbers: Sequence[int]) -> Families:
        keys, values = (self.alphabet**size for size in (self.key_size, self.value_size))
        return Families(
            {
                length: arranging(keys, self._pairs(length))
                + arranging(values, self._pairs(length))
                for length in numbers
            },
            f"lengths {numbers[0]} to {numbers[-1]} with {keys} keys and {values} values",
        )

    def batch_of(self, drawn: Drawn, generator: torch.Generator) -> Batch:
        sources, targets, alignments = [], [], []
        for length, digits in drawn.items():
            examples, pairs = len(digits), self._pairs(length)
            key_words, value_words = (arrangements(half) for half in digits.split(pairs, dim=1))
            keys = self._spelled(key_words, self.key_size)
            values = self._spelled(value_words, self.value_size)
            colon, space = (torch.full((examples, pairs, 1), mark) for mark in (COLON, SPACE))
            stated = torch.cat([keys, colon, values, space], dim=2)
            # pairs and single spaces in random order, then each pair as wide as it is
            slots = length - pairs * (self._unit - 1)
            order = torch.rand(examples, slots, generator=generator).argsort(dim=1)
            begins = order[:, :pairs].sort(dim=1).values + torch.arange(pairs) * (self._unit - 1)
            places = begins.unsqueeze(2) + torch.arange(self._unit)
            context = torch.full((examples, length), SPACE)
            context = context.scatter(1, places.flatten(1), stated.flatten(1))
            asked = torch.randint(pairs, (examples, self.num_queries), generator=generator)
            row = torch.arange(examples).unsqueeze(1)
            mark = torch.full((examples, self.num_queries, 1), QUESTION)
            questions = torch.cat([mark, keys[row, asked]], dim=2)
            sources.append(torch.cat([context, questions.flatten(1)], dim=1))
            targets.append(values[row, asked].flatten(1))
            value_places = places[:, :, self.key_size + 1 : -1]
            alignments.append(value_places[row, asked].flatten(1))
        source = stack(sources, self.longest(max(drawn)))
        return sequence_batch(source, torch.cat(targets), torch.cat(alignments))

    def _pairs(self, length: int) -> int:
        return int(length * self.pair_share // self._unit)

    def _spelled(
        self, words: Int[Tensor, "examples pairs"], size: int
    ) -> Int[Tensor, "examples pairs {size}"]:
        powers = self.alphabet ** torch.arange(size)
        return LETTERS + words.unsqueeze(2) // powers % self.alphabet
