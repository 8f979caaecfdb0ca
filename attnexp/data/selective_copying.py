"""Copying of the symbols that are among blanks, in their order."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from attnexp.core.batch import Batch
from attnexp.data.drawn import DrawnSequences
from attnexp.data.sequences import (
    FIRST,
    Drawn,
    Families,
    check_least,
    check_positive,
    contents,
    given_batch,
    numbered,
    uniform,
)

BLANK, SEPARATOR = ".", "|"


@dataclass(eq=False, repr=False)
class SelectiveCopying(DrawnSequences):
    """source = n symbols at random places among blanks; the targets are these symbols, in order.

    The selective copying task of Poli et al. (2024, arXiv 2403.17844), "Mechanistic Design and
    Scaling of Hybrid Architectures", after the code (athms/mad-lab, mad/data/instances.py), with
    the sizes of configs/tasks/selective-copying.yml there. n = `num_symbols` symbols, a separator
    and n blanks for the answers are `length` symbols together with the blanks of the source, of
    which there are length - 2n - 1. Published accuracies are the best of a grid of learning rates
    and weight decays at one seed, so they have no error bars and are biased upwards.

    The queries are the separator | and n blanks, and target t is due at blank t: nothing is fed
    back. An architecture that reads source and queries as one causal sequence, `decoder_only`, has
    the input of the code. Of `vocab_size` symbols two are the blank (.) and the separator; the
    others, 0, 1, ..., are copied, uniform and with repetition. All strings to copy are different,
    so the three sets are disjoint. The places are a uniform choice of n of the length - n - 1
    places of the source; in the code no blank is behind the last symbol, and blanks are shared
    among the n gaps in front of symbols by independent draws. The gold alignment is the place of
    the copied symbol.

    Example of length 12, as source, queries and targets:
        source     . 4 . . 0 . 4 .
        queries    | . . .
        target     4 0 4
        alignment  1 4 6

    Raises ValueError for a set without examples, no symbol to copy, fewer than three symbols, a
    length below 2n + 1, and more examples than there are different strings to copy.
    """

    floors = ("exact_match", "token_accuracy")

    num_train: int = 12_800
    num_test: int = 1_280
    num_symbols: int = 16
    length: int = 256
    vocab_size: int = 16

    def __post_init__(self, generator: torch.Generator) -> None:
        count = self.num_symbols
        check_positive("num_symbols", count)
        why = "a blank and a separator are among the symbols"
        check_least("vocab_size", self.vocab_size, 3, why)
        why = f"{count} symbols to copy take two places each and the separator takes one"
        check_least("length", self.length, 2 * count + 1, why)
        self._copied = self.vocab_size - 2
        symbols = [*numbered(self._copied), BLANK, SEPARATOR]
        self.draw_sets(generator, range(count, count + 1), None, symbols, symbols)

    def longest(self, number: int) -> int:
        return self.length

    def families(self, numbers: Sequence[int]) -> Families:
        return uniform(numbers, self._copied)

    def batch_of(self, drawn: Drawn, generator: torch.Generator) -> Batch:
        symbols = contents(drawn)
        examples, count = symbols.shape
        blank, separator = FIRST + self._copied, FIRST + self._copied + 1
        source = torch.full((examples, self.length - count - 1), blank)
        order = torch.rand(source.shape, generator=generator).argsort(dim=1)
        places = order[:, :count].sort(dim=1).values
        queries = torch.full((examples, count + 1), blank)
        queries[:, 0] = separator
        return given_batch(
            queries=queries,
            source=source.scatter(1, places, symbols),
            target=symbols,
            asked=torch.arange(1, count + 1).expand(examples, -1),
            alignment=places,
        )
