"""Random symbols that must be rebuilt from the vector of the symbol behind them."""

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
    contents,
    given_batch,
    numbered,
    uniform,
)

COMPRESSION = "#"


@dataclass(eq=False, repr=False)
class Compression(DrawnSequences):
    """source = x_1 ... x_n #; the targets are x_1 ... x_n, each due at a query of its own.

    The compression task of Poli et al. (2024, arXiv 2403.17844), "Mechanistic Design and Scaling of
    Hybrid Architectures", after the code (athms/mad-lab, mad/data/instances.py), with the sizes of
    configs/tasks/compression.yml there. Published accuracies are the best of a grid of learning
    rates and weight decays at one seed, so they have no error bars and are biased upwards.

    `arch=bottleneck` is the model of the paper: it rebuilds all symbols from the vector of the
    compression symbol # alone. In the other architectures the queries see the whole source, and the
    task is copying. An example has `length` symbols, # included, so n = length - 1. Of `vocab_size`
    symbols one is #; the others, 0, 1, ..., are uniform, with repetition, and all sources are
    different. The queries are # n times, and nothing is fed back. In the code the last target is #
    itself, which the same symbol at the end of every example makes trivial; here it is not asked
    for. There is no gold alignment, because in the bottleneck one row of weights serves all
    answers.

    Example of length 5:
        source     3 1 4 1 #
        queries    # # # #
        target     3 1 4 1

    Raises ValueError for a set without examples, fewer than two symbols, a length below 2, and more
    examples than there are different sources.
    """

    floors = ("exact_match", "token_accuracy")

    num_train: int = 12_800
    num_test: int = 1_280
    length: int = 32
    vocab_size: int = 16

    def __post_init__(self, generator: torch.Generator) -> None:
        why = "the compression symbol is one of the symbols"
        check_least("vocab_size", self.vocab_size, 2, why)
        check_least("length", self.length, 2, "the compression symbol follows the others")
        self._content = self.vocab_size - 1
        symbols = [*numbered(self._content), COMPRESSION]
        self.draw_sets(generator, range(self.length - 1, self.length), None, symbols, symbols)

    def longest(self, number: int) -> int:
        return number + 1

    def families(self, numbers: Sequence[int]) -> Families:
        return uniform(numbers, self._content)

    def batch_of(self, drawn: Drawn, generator: torch.Generator) -> Batch:
        symbols = contents(drawn)
        compression = torch.full_like(symbols, FIRST + self._content)
        return given_batch(
            queries=compression,
            source=torch.cat([symbols, compression[:, :1]], dim=1),
            target=symbols,
            asked=torch.arange(symbols.shape[1]).expand_as(symbols),
        )
