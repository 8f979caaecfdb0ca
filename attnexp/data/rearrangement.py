"""Sequences of symbols to be put into another order."""

from abc import abstractmethod

import torch
from jaxtyping import Int
from torch import Tensor

from attnexp.batch import Batch, Seq2SeqSpec
from attnexp.data.base import Dataset
from attnexp.data.sequences import (
    FIRST,
    PAD,
    Drawn,
    Families,
    check_memory,
    check_positive,
    check_range,
    check_sizes,
    draw_sets,
    sequence_batch,
    sequence_spec,
    stack,
    tested_range,
)


class Rearrangement(Dataset):
    """Sources of uniform length and uniform symbols; target[t] = source[p(t)], p a permutation.

    The gold alignment is p itself. Symbols are named 0, 1, ..., vocab_size - 1, and source and
    target share one vocabulary, in which the special symbols come on top of `vocab_size`. Lengths,
    `min_length` to `max_length`, count content symbols; the end symbol comes on top as well.

    All sources are different, so the three sets are disjoint. Lengths are equally frequent as far
    as that allows: where there are too few sequences of a short length, all of them are drawn.

    The test set may have other lengths, `test_min_length` to `test_max_length`, which training and
    validation then never see unless they are within their range too. An end that is None is that
    of training.

    Raises ValueError for a set without examples, a length or a vocabulary below 1, a range of
    lengths that is empty, and more examples than there are different sources.
    """

    spec: Seq2SeqSpec

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
    ) -> None:
        check_sizes(num_train, num_validation, num_test)
        check_range("min_length", min_length, "max_length", max_length)
        check_positive("vocab_size", vocab_size)
        lengths = range(min_length, max_length + 1)
        tested = tested_range("length", min_length, max_length, test_min_length, test_max_length)
        longest = max(max_length, tested[-1] if tested else 0)
        shapes = len(lengths) + (len(tested) if tested else 0)
        check_memory((num_train, num_validation, num_test), longest, shapes, vocab_size)
        self.train, self.validation, self.test = draw_sets(
            (num_train, num_validation, num_test),
            self.families(lengths, vocab_size),
            None if tested is None else self.families(tested, vocab_size),
            self._batch,
            generator,
        )
        symbols = [str(number) for number in range(vocab_size)]
        self.spec = sequence_spec(symbols, symbols, self.train, self.test)

    @classmethod
    def families(cls, lengths: range, vocab_size: int) -> Families:
        """Return the sources that may be drawn, by their length."""
        return Families(
            {length: [vocab_size] * length for length in lengths},
            f"lengths {lengths[0]} to {lengths[-1]} over {vocab_size} symbols",
        )

    def _batch(self, drawn: Drawn) -> Batch:
        source = stack([block + FIRST for block in drawn.values()], max(drawn))
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
