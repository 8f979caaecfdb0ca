"""Sequences of symbols to be put into another order."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from attnexp.core.batch import Batch
from attnexp.data.drawn import SequencesByLength
from attnexp.data.sequences import (
    PAD,
    Drawn,
    Families,
    check_positive,
    contents,
    numbered,
    sequence_batch,
    uniform,
)


@dataclass(eq=False, repr=False)
class Rearrangement(SequencesByLength):
    """Sources of uniform length and uniform symbols; target[t] = source[p(t)], p a permutation.

    The gold alignment is p itself. Symbols are named 0, 1, ..., vocab_size - 1, and source and
    target share one vocabulary, in which the special symbols come on top of `vocab_size`. Lengths,
    `min_length` to `max_length`, count content symbols; the end symbol comes on top as well.

    All sources are different, so the three sets are disjoint. Lengths are equally frequent as far
    as that allows: if there are too few sequences of a short length, all of them are drawn.

    The test set may have other lengths, `test_min_length` to `test_max_length`, which training and
    validation then never see unless they are within their range too. An end that is None is that
    of training. Or it has the lengths in `test_lengths`, in equal shares.

    Raises ValueError for a set without examples, a length or a vocabulary below 1, a range of
    lengths that is empty, `test_lengths` next to a range, and more examples than there are
    different sources.
    """

    vocab_size: int = 20

    def __post_init__(self, generator: torch.Generator) -> None:
        check_positive("vocab_size", self.vocab_size)
        symbols = numbered(self.vocab_size)
        self.draw_sets(generator, *self.lengths(), symbols, symbols)

    def families(self, numbers: Sequence[int]) -> Families:
        return uniform(numbers, self.vocab_size)

    def batch_of(self, drawn: Drawn, generator: torch.Generator) -> Batch:
        source = contents(drawn)
        present = source != PAD
        places = self.places(source, present.sum(dim=1, keepdim=True))
        places = places.where(present, torch.zeros_like(places))
        return sequence_batch(
            source,
            target=source.gather(1, places).masked_fill(~present, PAD),
            alignment=places.masked_fill(~present, -1),
        )

    @abstractmethod
    def places(
        self, source: Int[Tensor, "examples length"], lengths: Int[Tensor, "examples 1"]
    ) -> Int[Tensor, "examples length"]:
        """Return p, the source position of each target symbol, with any value behind the end."""
