"""The first symbol of a sequence, whatever follows."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from attnexp.core.batch import Batch
from attnexp.data.drawn import DrawnSequences
from attnexp.data.sequences import (
    Drawn,
    Families,
    contents,
    numbered,
    question_batch,
    uniform,
)

BITS = 2


@dataclass(eq=False, repr=False)
class First(DrawnSequences):
    """source = ^b_1 b_2 ... b_n, random bits of which the first is marked; target = b_1.

    The language FIRST of Chiang and Cholak (2022), section 4: the n - 1 symbols behind the first
    say nothing, and a longer sequence has more of them. The mark (^0, ^1) stands for the paper's
    position vector, whose first entry is [i = 1] and all others 0, so that lengths beyond those of
    training have no new positions: choose `positions=none`. The answer is due at one query
    behind the source, and the gold alignment is 0. Lengths are `min_length` to `max_length`, and
    all sources are different. The test set may have other lengths, `test_min_length` to
    `test_max_length`; an end that is None is that of training.

    Example:
        source     ^1 0 0 1
        target     1
        alignment  0

    Raises ValueError for a set without examples, a length below 1, an empty range of lengths, and
    more examples than there are different sources.
    """

    floors = ("exact_match",)

    num_test: int = 200
    min_length: int = 50
    max_length: int = 50
    test_min_length: int | None = None
    test_max_length: int | None = None

    def __post_init__(self, generator: torch.Generator) -> None:
        bits = numbered(BITS)
        marked = numbered(BITS, "^{}".format)
        self.draw_sets(generator, *self.ranges_of("length"), [*bits, *marked], bits)

    def families(self, numbers: Sequence[int]) -> Families:
        return uniform(numbers, BITS)

    def batch_of(self, drawn: Drawn, generator: torch.Generator) -> Batch:
        bits = contents(drawn)
        marked = bits[:, :1] + BITS
        return question_batch(
            source=torch.cat([marked, bits[:, 1:]], dim=1),
            target=bits[:, 0],
            alignment=torch.zeros(len(bits), dtype=torch.int64),
        )
