"""The base of data sets of sequences that are drawn without repetition."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import torch

from attnexp.core.batch import Batch
from attnexp.data.sequences import (
    Drawn,
    Families,
    Sequences,
    ascending,
    check_memory,
    draw_apart,
    draw_distinct,
    ranges,
    sequence_spec,
    split,
)


class DrawnSequences(Sequences):
    """Draws training, validation and test sets that have no example in common.

    Each example has a number, such as its length or the number of its pairs. A subclass says in
    `families` which examples of given numbers there are, as rows of digits, and makes a batch of
    rows of digits in `batch_of`. Its settings are fields of a dataclass. Its `__post_init__` checks
    them, and at its end calls `draw_sets`.

    A subclass with a constructor of its own calls this one, with the numbers of examples as `sizes`
    and the arguments of `draw_sets`.

    Raises ValueError for a set without examples, for more examples than there are different ones,
    and for examples that do not fit in memory.
    """

    def __init__(
        self,
        generator: torch.Generator,
        sizes: tuple[int, int, int],
        *drawn: Any,
        **named: Any,
    ) -> None:
        self.num_train, self.num_validation, self.num_test = sizes
        self.draw_sets(generator, *drawn, **named)

    def draw_sets(
        self,
        generator: torch.Generator,
        trained: Sequence[int],
        tested: Sequence[int] | None,
        source_symbols: Sequence[str],
        target_symbols: Sequence[str],
        shapes: int = 1,
    ) -> None:
        """Draw the three sets, and set `spec`.

        - `trained` are the numbers that examples of training and validation have, in ascending
          order, and `tested` those of the test set, None if they are the same. `ranges_of` returns
          both.
        - `source_symbols` and `target_symbols` are the vocabularies without the special symbols.
          The id of their first symbol is `FIRST`. `numbered` makes such vocabularies.
        - `shapes` is the most families that a number has.
        """
        sizes = self.set_sizes()
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

    def ranges_of(self, name: str) -> tuple[range, range | None]:
        """Return the numbers of training and of the test set, from the settings with this name.

        The settings are `min_NAME`, `max_NAME`, and those of the test set, which a subclass may
        lack. See `ranges`.
        """
        low, high = getattr(self, f"min_{name}"), getattr(self, f"max_{name}")
        tested = (getattr(self, f"test_{end}_{name}", None) for end in ("min", "max"))
        return ranges(name, low, high, *tested)

    def longest(self, number: int) -> int:
        """Return the most symbols of an example with this number: by default the number itself."""
        return number

    @abstractmethod
    def families(self, numbers: Sequence[int]) -> Families:
        """Return which examples with these numbers there are, as families of rows of digits."""

    @abstractmethod
    def batch_of(self, drawn: Drawn, generator: torch.Generator) -> Batch:
        """Return the batch that rows of digits stand for.

        What digits do not tell is drawn from the generator.
        """


@dataclass(eq=False, repr=False)
class SequencesByLength(DrawnSequences):
    """Sequences whose number is their length. The test set may have other lengths."""

    min_length: int = 3
    max_length: int = 10
    _: KW_ONLY
    test_min_length: int | None = None
    test_max_length: int | None = None
    test_lengths: Sequence[int] | None = None

    def lengths(self) -> tuple[range, Sequence[int] | None]:
        """Return the lengths of training and those of the test set, None if they are the same.

        Raises ValueError for an empty range, for `test_lengths` that are empty or not positive, and
        for `test_lengths` together with a range.
        """
        trained, tested = self.ranges_of("length")
        listed = ascending("test_lengths", self.test_lengths, "length")
        if listed and tested:
            raise ValueError(
                "give test_lengths, or test_min_length and test_max_length, and not both"
            )
        return trained, listed or tested
