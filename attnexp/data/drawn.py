"""The base of data sets of sequences that are drawn without repetition."""

from abc import abstractmethod
from collections.abc import Sequence

import torch

from attnexp.core.batch import Batch, Seq2SeqSpec
from attnexp.data.base import Dataset
from attnexp.data.sequences import (
    Drawn,
    Families,
    check_memory,
    check_sizes,
    draw_apart,
    draw_distinct,
    sequence_spec,
    split,
)


class DrawnSequences(Dataset):
    """Draws training, validation and test sets that have no example in common.

    Each example has a number, such as its length or the number of its pairs. A subclass returns the
    examples of given numbers from `families`, as rows of digits, and makes sources and targets of
    digits in `batch_of`. Its constructor checks its settings, keeps those that the two methods
    read, and at its end calls this one:

    - `sizes` are the numbers of examples of training, validation and test.
    - `trained` are the numbers that examples of training and validation have, in ascending order,
      and `tested` those of the test set, None if they are the same. `ranges` makes both.
    - `source_symbols` and `target_symbols` are the vocabularies, without the special symbols; the
      id of the first is `FIRST`. `numbered` makes them.
    - `shapes` is the number of families for each number, at most.

    Raises ValueError for a set without examples, for more examples than there are different ones,
    and for those that do not fit in memory.
    """

    spec: Seq2SeqSpec

    def __init__(
        self,
        generator: torch.Generator,
        sizes: tuple[int, int, int],
        trained: Sequence[int],
        tested: Sequence[int] | None,
        source_symbols: Sequence[str],
        target_symbols: Sequence[str],
        shapes: int = 1,
    ) -> None:
        check_sizes(*sizes)
        count = sum(sizes if tested is None else sizes[:2])
        check_memory(count, self.longest(trained[-1]), shapes * len(trained))
        families = self.families(trained)
        if tested is None:
            whole = self.batch_of(draw_distinct(count, families, generator), generator)
            self.train, self.validation, self.test = split(whole, sizes, generator)
        else:
            check_memory(sizes[2], self.longest(tested[-1]), shapes * len(tested))
            known, unseen = draw_apart(sizes, families, self.families(tested), generator)
            seen = self.batch_of(known, generator)
            self.train, self.validation = split(seen, sizes[:2], generator)
            (self.test,) = split(self.batch_of(unseen, generator), sizes[2:], generator)
        self.spec = sequence_spec(source_symbols, target_symbols, self.train, self.test)

    def longest(self, number: int) -> int:
        """Return the number of symbols of an example with this number; by default equal."""
        return number

    @abstractmethod
    def families(self, numbers: Sequence[int]) -> Families:
        """Return the examples with these numbers that may be drawn."""

    @abstractmethod
    def batch_of(self, drawn: Drawn, generator: torch.Generator) -> Batch:
        """Return the batch that the digits stand for. The rest is drawn from the generator."""
