"""Sequences of symbols to be put into another order."""

from abc import abstractmethod
from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from attnexp.core.batch import Batch
from attnexp.data.drawn import DrawnSequences
from attnexp.data.sequences import (
    PAD,
    Drawn,
    Families,
    check_positive,
    contents,
    length_ranges,
    numbered,
    sequence_batch,
    uniform,
)


class Rearrangement(DrawnSequences):
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

    def __init__(
        self,
        generator: torch.Generator,
        num_train: int = 10_000,
        num_validation: int = 500,
        num_test: int = 500,
        min_length: int = 3,
        max_length: int = 10,
        vocab_size: int = 20,
        test_min_length: int | None = None,
        test_max_length: int | None = None,
        test_lengths: Sequence[int] | None = None,
    ) -> None:
        check_positive("vocab_size", vocab_size)
        self._vocab_size = vocab_size
        symbols = numbered(vocab_size)
        super().__init__(
            generator,
            (num_train, num_validation, num_test),
            *length_ranges(min_length, max_length, test_min_length, test_max_length, test_lengths),
            source_symbols=symbols,
            target_symbols=symbols,
        )

    def families(self, numbers: Sequence[int]) -> Families:
        return uniform(numbers, self._vocab_size)

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
        """Return p, the source position of each target symbol, with any value after the end."""
