"""A fixed map from keys to values, which only the parameters of a model can hold."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from attnexp.core.batch import Batch
from attnexp.data.drawn import DrawnSequences
from attnexp.data.sequences import (
    EOS,
    FIRST,
    Drawn,
    Families,
    contents,
    given_batch,
    numbered,
    uniform,
)

PLACEHOLDER = "_"


@dataclass(eq=False, repr=False)
class Memorization(DrawnSequences):
    """k_1 _ k_2 _ ... k_n _; at each placeholder the value of the key before it is due.

    The memorization task of Poli et al. (2024, arXiv 2403.17844), "Mechanistic Design and Scaling
    of Hybrid Architectures", after the code (athms/mad-lab, mad/data/instances.py), with the sizes
    of configs/tasks/memorization.yml there. Published accuracies are the best of a grid of learning
    rates and weight decays at one seed, so they have no error bars and are biased upwards.

    One map gives every key a value of its own. It is drawn once from the generator of the data, is
    the same in all three sets, and is not in the sequence: a model must learn it by heart. Of
    `vocab_size` symbols one is the placeholder (_), half of the others, rounded down, are keys (k0,
    k1, ...) and the rest values (0, 1, ...). The n = `length` / 2 keys of an example are uniform,
    with repetition, and all lists of keys are different, so the sets are disjoint. A key that
    training does not hold cannot be answered: with `num_train` * n far below the number of keys,
    the best accuracy is below 1.

    The list is the decoder's input and nothing is fed back; the source is the end symbol alone, so
    that `arch=decoder_only` reads a list as a language model does. There is no gold alignment,
    because the source does not hold the answers.

    Example of length 6:
        queries    k2 _ k0 _ k2 _
        target     1 3 1

    Raises ValueError for a set without examples, fewer than three symbols, an odd length or one
    below 2, and more examples than there are different lists of keys.
    """

    floors = ("exact_match", "token_accuracy")

    num_train: int = 256
    num_test: int = 1_280
    length: int = 32
    vocab_size: int = 256

    def __post_init__(self, generator: torch.Generator) -> None:
        if self.vocab_size < 3:
            raise ValueError(
                "vocab_size must be at least 3, for a key, a value and the placeholder, "
                f"got {self.vocab_size}"
            )
        if self.length % 2 or self.length < 2:
            raise ValueError(
                "length must be even and at least 2, because each key is followed by a "
                f"placeholder, got {self.length}"
            )
        self._num_keys = (self.vocab_size - 1) // 2
        num_values = self.vocab_size - 1 - self._num_keys
        self._values = torch.randperm(num_values, generator=generator)[: self._num_keys]
        symbols = [*numbered(self._num_keys, "k{}".format), *numbered(num_values), PLACEHOLDER]
        self._placeholder = FIRST + len(symbols) - 1
        pairs = self.length // 2
        self.draw_sets(generator, range(pairs, pairs + 1), None, symbols, symbols)

    def longest(self, number: int) -> int:
        return 2 * number

    def families(self, numbers: Sequence[int]) -> Families:
        return uniform(numbers, self._num_keys)

    def batch_of(self, drawn: Drawn, generator: torch.Generator) -> Batch:
        keys = contents(drawn)
        examples, pairs = keys.shape
        placeholders = torch.full_like(keys, self._placeholder)
        return given_batch(
            queries=torch.stack([keys, placeholders], dim=2).flatten(1),
            source=torch.full((examples, 1), EOS),
            target=FIRST + self._num_keys + self._values[keys - FIRST],
            asked=torch.arange(1, 2 * pairs, 2).expand(examples, -1),
        )
